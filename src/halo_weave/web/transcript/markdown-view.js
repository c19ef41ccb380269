// The passages of a turn as Markdown, in place of their bare text. Neighbouring passages are rendered as one text; each
// block of it stands at the passage where it begins.

/** @import { Block } from "../shared/records.js" */
/** @import { Part } from "../shared/part.js" */
/** @import { Said } from "./conversation.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { appendBlocks, lineStarts } from "./blocks.js";
import { underline } from "./looked-at.js";
import { grouped } from "./passage-groups.js";
import { isAnythingRendered, rendered, renderedAlready } from "./rendering.js";

/** @type {WeakMap<Element, string>} */
const shownHtml = new WeakMap();
/** @type {WeakSet<Element>} */
const unfinished = new WeakSet(); // show what was there when the reply ended
/** @type {WeakSet<Element>} */
const underlined = new WeakSet();

/**
 * Show the passage's Markdown, and that of its neighbours, once the server has rendered it.
 * @param {Element} view
 * @param {Said} chunk
 * @param {Part} owner
 */
export async function showRendered(view, chunk, owner) {
  if (chunk.marks.tool) return;
  const passages = passagesAround(view);
  const text = passages.map(textOf).join("");
  if (!view.querySelector(".rendered") || unfinished.has(view)) {
    const blocks = await rendered(text);
    if (!blocks || !owner.isConnected || !view.isConnected) return;
    show(passages, text, blocks);
    for (const one of passages) unfinished.delete(one);
  }
  if (underlined.has(view)) return;
  underlined.add(view);
  const start = passages.slice(0, passages.indexOf(view)).reduce((sum, one) => sum + textOf(one).length, 0);
  underline(passages.flatMap((one) => [...one.querySelectorAll(".rendered")]), chunk, text, start);
}

/**
 * Show a turn's Markdown at once if it was rendered before, so that nothing jumps when a reply ends or a page is loaded.
 * @param {Element} turn
 */
export function showRenderedAlready(turn) {
  if (app.view !== "read" || !isAnythingRendered()) return;
  for (const passages of groupsOf(turn)) {
    const text = passages.map(textOf).join("");
    const known = renderedAlready(text);
    if (!known) continue;
    show(passages, text, known.blocks);
    if (!known.isWhole) for (const one of passages) unfinished.add(one);
  }
}

/**
 * @param {Element[]} passages
 * @param {string} text of all
 * @param {Block[]} blocks of all
 */
function show(passages, text, blocks) {
  const starts = lineStarts(text);
  let end = 0;
  for (const view of passages) {
    const start = end;
    end += textOf(view).length;
    const own = blocks.filter(({ line }) => starts[line] >= start && starts[line] < end);
    const html = own.map((block) => block.html).join("");
    if (shownHtml.get(view) === html) continue;
    shownHtml.set(view, html);
    underlined.delete(view);
    const made = element("div", { className: "rendered" });
    appendBlocks(made, own);
    view.querySelector(".rendered")?.remove();
    view.querySelector(".words")?.after(made);
  }
}

/** @param {Element} view */
const textOf = (view) => view.querySelector(".words")?.textContent ?? "";

/** @param {Element} view */
function passagesAround(view) {
  const turn = view.closest(".turn");
  return (turn && groupsOf(turn).find((group) => group.includes(view))) ?? [view];
}

/** @param {Element} turn */
const groupsOf = (turn) =>
  grouped(turn.querySelectorAll(".chunk:not(.tool)"), (view) => ({
    turn: "",
    place: Number(view.getAttribute("data-key")?.split(".")[1]),
    length: textOf(view).length,
  }));
