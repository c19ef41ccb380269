// A chunk's Markdown in place of its bare text, with code that can be copied.

/** @import { Part } from "../shared/part.js" */
/** @import { Said } from "./conversation.js" */
import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/element.js";
import { underline } from "./looked-at.js";
import { rendered, renderedBefore } from "./rendering.js";

const COPIED_MS = 1500;

/**
 * Show the chunk's Markdown once the server has rendered it.
 * @param {Element} view
 * @param {Said} chunk
 * @param {Part} owner
 */
export async function showRendered(view, chunk, owner) {
  if (isShown(view) || chunk.marks.tool) return;
  const html = await rendered(chunk.text);
  if (html !== null && view.isConnected && !isShown(view)) insert(view, chunk, html, owner);
}

/**
 * The same at once, if the server has rendered it before.
 * @param {Element} view
 * @param {Said} chunk
 * @param {Part} owner
 */
export function showRenderedBefore(view, chunk, owner) {
  const html = renderedBefore(chunk.text);
  if (html !== undefined && !isShown(view) && !chunk.marks.tool) insert(view, chunk, html, owner);
}

/** @param {Element} view */
const isShown = (view) => view.querySelector(".rendered") !== null;

/**
 * @param {Element} view
 * @param {Said} chunk
 * @param {string} html
 * @param {Part} owner
 */
function insert(view, chunk, html, owner) {
  const made = element("div", { className: "rendered" });
  made.innerHTML = html; // sanitised by the server, and the page allows no script but its own
  underline(made, chunk);
  makeUsable(made, owner);
  view.querySelector(".words")?.after(made);
}

/**
 * Code can be copied, and a table that is wider than its place can be scrolled with the keyboard.
 * @param {Element} root
 * @param {Part} owner whose timers are used
 */
export function makeUsable(root, owner) {
  for (const table of root.querySelectorAll("table")) table.tabIndex = 0;
  for (const block of root.querySelectorAll("pre")) block.append(copyButton(block, owner));
}

/**
 * @param {HTMLPreElement} block
 * @param {Part} owner
 */
function copyButton(block, owner) {
  const button = element("button", { className: "copy outlined", textContent: "Copy" });
  button.onclick = async () => {
    if (!(await copyText((block.querySelector("code") ?? block).textContent ?? ""))) return;
    button.textContent = "Copied";
    owner.later(COPIED_MS, () => (button.textContent = "Copy"));
  };
  return button;
}
