// One turn in the transcript: who, when, its chunks, and the gaps between them.

/** @import { Said } from "./conversation.js" */
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { names } from "../shared/names.js";
import { chunkControls, messageControls } from "./controls.js";
import { lookedAtNote } from "./looked-at.js";
import { showRenderedAlready } from "./markdown-view.js";
import { leftContextMark } from "./out-mark.js";

/** @typedef {{ isNewest: boolean, gaps: Map<string | null, HTMLElement> }} TurnOptions */

/** @type {Record<string, string>} */
const ENDINGS = {
  stopped: "You stopped this reply.",
  length: "The reply reached its maximum length. Continue lets the model write more.",
  interrupted: "The program ended while this reply was being written.",
  failed: "The engine failed while this reply was being written.",
};

/** @type {WeakMap<HTMLElement, Said>} */
const shown = new WeakMap(); // what the view of a chunk was made from

/**
 * @param {Said[]} chunks
 * @param {TurnOptions} options
 */
export function turnView(chunks, options) {
  const [{ turn, role }] = chunks;
  const article = element("article", { className: `turn ${role}`, "data-turn": `${turn}.${role}` });
  fillTurn(article, chunks, options);
  return article;
}

/**
 * Bring the view of a turn up to date. The views of chunks whose text is the same stay, with their Markdown.
 * @param {HTMLElement} article
 * @param {Said[]} chunks
 * @param {TurnOptions} options
 */
export function fillTurn(article, chunks, { isNewest, gaps }) {
  const [first] = chunks;
  /** @type {Map<string | undefined, HTMLElement>} */
  const known = new Map();
  for (const view of article.querySelectorAll(".chunk")) if (view instanceof HTMLElement) known.set(view.dataset.key, view);
  article.setAttribute("aria-label", `${names()[first.role]}, ${moment(first.time)}`);
  /** @type {HTMLElement[]} */
  const parts = [heading(chunks, isNewest)];
  for (const chunk of chunks) {
    const gap = chunk === first ? undefined : gaps.get(chunk.id);
    if (gap) parts.push(gap);
    const view = known.get(chunk.id);
    parts.push(view && isStillOf(view, chunk) ? view : element("div", { className: "chunk", tabIndex: 0, "data-key": chunk.id }));
    fillChunk(parts[parts.length - 1], chunk);
  }
  arrange(article, parts);
  showRenderedAlready(article);
}

/**
 * Whether the view shows the same words, cut into as many tokens, with the same words underlined.
 * @param {HTMLElement} view
 * @param {Said} chunk
 */
function isStillOf(view, chunk) {
  const before = shown.get(view);
  if (before?.text !== chunk.text || String(before.looked_at) !== String(chunk.looked_at)) return false;
  return before.isOut || chunk.isOut || before.pieces.length === chunk.pieces.length;
}

/**
 * @param {HTMLElement} view
 * @param {Said} chunk
 */
function fillChunk(view, chunk) {
  const before = shown.get(view);
  shown.set(view, chunk);
  if (before === chunk && view.classList.contains("pinned") === chunk.is_pinned) return;
  const isOut = Boolean(chunk.isOut);
  if (!before) view.append(element("p", { className: "words" }, chunk.text));
  view.classList.toggle("pinned", chunk.is_pinned);
  view.classList.toggle("out", isOut);
  for (const old of view.querySelectorAll(":scope > :is(.controls, .out-mark, .out-why)")) old.remove();
  view.append(...(chunk.isOut ? leftContextMark(chunk.reason) : []), chunkControls(chunk));
  if (chunk.marks.tool) {
    view.classList.add("tool");
    view.title = `Result of the tool ${chunk.marks.tool.name || "that was called"}, not written by the model`;
  }
}

/**
 * @param {Said[]} chunks
 * @param {boolean} isNewest
 */
function heading(chunks, isNewest) {
  const [first] = chunks;
  const time = element("time", { dateTime: first.time, textContent: moment(first.time) });
  const link = element("a", { className: "permalink", href: `#${first.window || app.windowId}/${first.id}`, title: "Link to this message" }, time);
  const header = element("header", {}, element("strong", { textContent: names()[first.role] }), link);
  const returned = chunks.find((chunk) => chunk.returned);
  if (returned) header.append(badge("returned", "returned", returned.returned));
  const note = lookedAtNote(chunks);
  if (note) header.append(note);
  if (chunks.some((chunk) => chunk.is_pinned)) header.append(badge("pin", "pinned", "Pinned chunks are never buried."));
  const ending = chunks[chunks.length - 1].marks.ending;
  if (ending && ending !== "end") header.append(badge("ending", ending, ENDINGS[ending] ?? ending));
  if (chunks.some((chunk) => chunk.marks.edited)) header.append(badge("edited", "edited", "You edited this reply."));
  if (first.marks.reflection) header.append(badge("reflection", "reflection", "The model was asked to summarise."));
  if (chunks.some((chunk) => chunk.is_foreign)) header.append(badge("foreign", "other model", "Written with another model and tokenised again for this one."));
  header.append(messageControls(chunks, isNewest));
  return header;
}

/**
 * @param {string} kind
 * @param {string} text
 * @param {string} title
 */
const badge = (kind, text, title) => element("span", { className: `badge ${kind}`, textContent: text, title });
