// Blocks of rendered Markdown: where they begin in their text, and how they are put on the page.

/** @import { Block } from "../shared/records.js" */
import { element } from "../shared/element.js";
import { CodeHead } from "./code-head.js";

const LINE_END = /\r\n|\r|\n/gu;

/**
 * Where each line of a text begins.
 * @param {string} text
 */
export const lineStarts = (text) => [0, ...[...text.matchAll(LINE_END)].map(({ 0: end, index }) => index + end.length)];

/**
 * How many blocks of a growing text will not change any more: those before the last one that has a complete line. The
 * items of a list change together.
 * @param {Block[]} blocks
 * @param {number} lines of the text
 */
export function settledCount(blocks, lines) {
  const isOpen = (/** @type {Block} */ { line, continues }) => continues || line >= lines - 1;
  return Math.max(0, blocks.findLastIndex((block) => !isOpen(block)));
}

/**
 * Append blocks; an item that continues a list joins it. Code can be copied, and a table that is wider than its place
 * can be scrolled with the keyboard.
 * @param {Element} root
 * @param {Block[]} blocks
 */
export function appendBlocks(root, blocks) {
  for (const { html, continues } of blocks) {
    const made = element("template");
    made.innerHTML = html; // sanitised by the server, and the page allows no script but its own
    for (const box of made.content.querySelectorAll(".table-box")) box.setAttribute("tabindex", "0");
    for (const block of made.content.querySelectorAll(".code-block")) block.prepend(new CodeHead());
    const list = root.lastElementChild;
    if (continues && list) list.append(...(made.content.firstElementChild?.children ?? []));
    else root.append(...made.content.children);
  }
}
