// The words of a returned chunk that the message looked at, for which it returned: underlined in both views.

/** @import { Span } from "../shared/records.js" */
/** @import { Said } from "./conversation.js" */
import { element } from "../shared/element.js";
import { unitsOf } from "../shared/spans.js";

/** @typedef {{ node: Text, at: number, place: number, length: number }} Run `at` in the node, `place` in the Markdown */

const LINE = /[^\n]+/gu;
const WORD = /\S+/gu;
const TITLE = "The message that brought this back looked at this word.";

/**
 * Ranges of the chunk's text in UTF-16 units; none in the result of a tool, which has a look of its own.
 * @param {Said} chunk
 */
const rangesOf = ({ text, looked_at: spans, marks }) => (marks.tool ? [] : unitsOf(text, spans));

/**
 * What the underlines mean, and the words for those who do not see them; null if nothing is underlined.
 * @param {Said[]} chunks of one turn
 */
export function lookedAtNote(chunks) {
  const words = chunks.flatMap((chunk) => rangesOf(chunk).map(([start, end]) => chunk.text.slice(start, end)));
  if (!words.length) return null;
  const title = `The message that brought this back looked at: ${[...new Set(words)].join(", ")}.`;
  return element("small", { className: "looked-at-note", role: "note", title, "aria-label": title }, element("u", { textContent: "underlined" }), ": what the message looked at");
}

/**
 * Underline the words in the tokens of a chunk, each an element with one text.
 * @param {HTMLElement[]} tokens
 * @param {Said} chunk
 */
export function underlineTokens(tokens, chunk) {
  const ranges = rangesOf(chunk);
  if (!ranges.length) return;
  let place = 0;
  for (const { firstChild: node } of tokens) {
    if (!(node instanceof Text)) continue; // an empty token
    const { length } = node;
    wrapAll(ranges, { node, at: 0, place, length });
    place += length;
  }
}

/**
 * Underline the words in the chunk's Markdown after it was rendered.
 * @param {Element[]} roots what the Markdown became
 * @param {Said} chunk
 * @param {string} markdown a text that contains the chunk's
 * @param {number} start of the chunk's text in it
 */
export function underline(roots, chunk, markdown, start) {
  const ranges = rangesOf(chunk).map(([first, last]) => /** @type {Span} */ ([first + start, last + start]));
  if (!ranges.length) return;
  for (const run of runsOf(roots, markdown).reverse()) wrapAll(ranges, run);
}

/**
 * The rendered texts with their places in the Markdown. They stand there in the same order: whole lines or, where signs
 * were taken out of a line, its words.
 * @param {Element[]} roots
 * @param {string} markdown
 */
function runsOf(roots, markdown) {
  /** @type {Run[]} */
  const runs = [];
  let from = 0;
  /**
   * @param {Text} node
   * @param {number} at
   * @param {string} text
   */
  const take = (node, at, text) => {
    const place = markdown.indexOf(text, from);
    if (place < 0) return false;
    runs.push({ node, at, place, length: text.length });
    from = place + text.length;
    return true;
  };
  for (const node of roots.flatMap(textsOf)) {
    for (const { 0: line, index } of node.data.matchAll(LINE)) {
      if (!line.trim() || take(node, index, line)) continue;
      for (const word of line.matchAll(WORD)) take(node, index + word.index, word[0]);
    }
  }
  return runs;
}

/**
 * Without formulas, whose signs are not those of the Markdown, and without what the page adds to code.
 * @param {Element} root
 */
function textsOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) if (node instanceof Text && !node.parentElement?.closest("math, halo-code-head")) texts.push(node);
  return texts;
}

/**
 * From the end, since a wrapped word splits the text that it stands in.
 * @param {Span[]} ranges
 * @param {Run} run
 */
function wrapAll(ranges, { node, at, place, length }) {
  for (const [first, last] of ranges.toReversed()) {
    const [start, end] = [Math.max(first, place), Math.min(last, place + length)];
    if (start >= end) continue;
    const range = document.createRange();
    range.setStart(node, start - place + at);
    range.setEnd(node, end - place + at);
    range.surroundContents(element("u", { className: "looked-at", title: TITLE }));
  }
}
