// A chunk's Markdown in place of its bare text, with code that can be copied.

/** @import { Part } from "../shared/part.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/element.js";
import { underline } from "./looked-at.js";
import { rendered } from "./rendering.js";

const COPIED_MS = 1500;

/**
 * Show the chunk's Markdown once the server has rendered it.
 * @param {Element} view
 * @param {Chunk} chunk
 * @param {Part} owner
 */
export async function showRendered(view, chunk, owner) {
  if (view.querySelector(".rendered") || chunk.marks.tool) return;
  const html = await rendered(chunk.text);
  if (html === null || !view.isConnected || view.querySelector(".rendered")) return;
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
