// Markdown as sanitised HTML, made by the server; requested in batches, and never twice for one text.

import { programApi } from "../shared/api.js";
import { pause } from "../shared/waiting.js";

/** @typedef {(html: string | null) => void} Resolver */

const KEPT = 2000;
const BATCH_MS = 15;
/** @type {Map<string, string>} */
const cache = new Map();
/** @type {Map<string, Resolver[]>} */
let waiting = new Map();
let isScheduled = false;

/**
 * Resolves to HTML that is safe to insert, or to null if the server does not answer.
 * @param {string} text
 * @returns {Promise<string | null>}
 */
export function rendered(text) {
  const known = cache.get(text);
  if (known !== undefined) return Promise.resolve(known);
  return new Promise((resolve) => {
    waiting.set(text, [...(waiting.get(text) ?? []), resolve]);
    if (isScheduled) return;
    isScheduled = true;
    pause(BATCH_MS).then(ask);
  });
}

/**
 * The HTML of a text that was rendered before, if it is still known.
 * @param {string} text
 */
export const renderedBefore = (text) => cache.get(text);

async function ask() {
  const asked = waiting;
  waiting = new Map();
  isScheduled = false;
  const html = await programApi.render([...asked.keys()]).then((answer) => answer.html, () => []);
  [...asked].forEach(([text, resolvers], place) => {
    const made = html[place] ?? null;
    if (made !== null) keep(text, made);
    for (const resolve of resolvers) resolve(made);
  });
}

/**
 * @param {string} text
 * @param {string} html
 */
function keep(text, html) {
  const [oldest] = cache.keys();
  if (cache.size >= KEPT && oldest !== undefined) cache.delete(oldest);
  cache.set(text, html);
}

/**
 * Where the last block of a growing Markdown text begins: the text before it will not change any more.
 * @param {string} text
 */
export function lastBlockStart(text) {
  let start = 0;
  let fence = "";
  let place = 0;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1][0];
    if (mark && !fence) {
      fence = mark;
      start = place;
    } else if (mark && fence === mark) {
      fence = "";
    } else if (!fence && !line.trim() && place + line.length < text.length) {
      start = place + line.length + 1;
    }
    place += line.length + 1;
  }
  return Math.min(start, text.length);
}
