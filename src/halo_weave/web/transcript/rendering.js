// Markdown as the blocks of sanitised HTML that the server makes of it; requested in batches, and kept.

/** @import { Block } from "../shared/records.js" */
import { programApi } from "../shared/api.js";
import { pause } from "../shared/waiting.js";

/** @typedef {(blocks: Block[] | null) => void} Resolver */

const MOST_KEPT = 8_000_000; // characters
const MOST_ASKED = 500_000; // characters in one request
const BATCH_MS = 15;
/** @type {Map<string, Block[]>} */
const cache = new Map();
let kept = 0;
/** @type {Map<string, Resolver[]>} */
let waiting = new Map();
let isScheduled = false;
/** @type {{ text: string, blocks: Block[] }} */
let streamed = { text: "", blocks: [] };

/**
 * Resolves to blocks whose HTML is safe to insert, or to null if the server does not answer.
 * @param {string} text
 * @returns {Promise<Block[] | null>}
 */
export function rendered(text) {
  const known = cache.get(text);
  if (known) return Promise.resolve(known);
  return new Promise((resolve) => {
    waiting.set(text, [...(waiting.get(text) ?? []), resolve]);
    if (isScheduled) return;
    isScheduled = true;
    pause(BATCH_MS).then(askAll);
  });
}

/** Whether anything was rendered yet; a page that is being opened need not look for it, turn by turn. */
export const isAnythingRendered = () => cache.size > 0 || streamed.text !== "";

/**
 * What can be shown of a text at once. It may lack the end of a reply whose last words were not rendered yet.
 * @param {string} text
 * @returns {{ blocks: Block[], isWhole: boolean } | null}
 */
export function renderedAlready(text) {
  const blocks = cache.get(text);
  if (blocks) return { blocks, isWhole: true };
  return streamed.text && text.startsWith(streamed.text) ? { blocks: streamed.blocks, isWhole: false } : null;
}

/**
 * The reply under way, as far as it is rendered.
 * @param {string} text
 * @param {Block[]} blocks
 */
export function noteStreamed(text, blocks) {
  streamed = { text, blocks };
}

async function askAll() {
  const asked = [...waiting];
  waiting = new Map();
  isScheduled = false;
  for (const batch of batches(asked)) await ask(batch);
}

/** @param {[string, Resolver[]][]} asked */
async function ask(asked) {
  const blocks = await programApi.render(asked.map(([text]) => text)).then((answer) => answer.blocks, () => []);
  asked.forEach(([text, resolvers], place) => {
    const made = blocks[place] ?? null;
    if (made) keep(text, made);
    for (const resolve of resolvers) resolve(made);
  });
}

/** @param {[string, Resolver[]][]} asked */
function batches(asked) {
  /** @type {[string, Resolver[]][][]} */
  const made = [];
  let size = Infinity;
  for (const one of asked) {
    size += one[0].length;
    if (size > MOST_ASKED) {
      made.push([]);
      size = one[0].length;
    }
    made[made.length - 1].push(one);
  }
  return made;
}

/**
 * @param {string} text
 * @param {Block[]} blocks
 */
function keep(text, blocks) {
  if (cache.has(text)) return;
  cache.set(text, blocks);
  kept += sizeOf(text, blocks);
  for (const [oldest, its] of cache) {
    if (kept <= MOST_KEPT || oldest === text) return;
    cache.delete(oldest);
    kept -= sizeOf(oldest, its);
  }
}

/**
 * @param {string} text
 * @param {Block[]} blocks
 */
const sizeOf = (text, blocks) => blocks.reduce((sum, { html }) => sum + html.length, text.length);
