// One turn in the transcript: who, when, its chunks, and the gaps between them.

/** @import { Chunk } from "../shared/window-model.js" */
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { names } from "../shared/names.js";
import { chunkControls, messageControls } from "./controls.js";
import { lookedAtNote } from "./looked-at.js";
import { showRenderedAlready } from "./markdown-view.js";

/** @type {Record<string, string>} */
const ENDINGS = {
  stopped: "You stopped this reply.",
  length: "The reply reached its maximum length. Continue lets the model write more.",
  interrupted: "The program ended while this reply was being written.",
  failed: "The engine failed while this reply was being written.",
};

/**
 * @param {Chunk[]} chunks
 * @param {{ isNewest: boolean, gaps: Map<string | null, HTMLElement> }} options
 */
export function turnView(chunks, { isNewest, gaps }) {
  const [first] = chunks;
  const article = element("article", { className: `turn ${first.role}`, "data-turn": `${first.turn}.${first.role}` });
  article.setAttribute("aria-label", `${names()[first.role]}, ${moment(first.time)}`);
  article.append(heading(chunks, isNewest));
  for (const chunk of chunks) {
    const gap = chunk === first ? undefined : gaps.get(chunk.id);
    if (gap) article.append(gap);
    article.append(chunkView(chunk));
  }
  showRenderedAlready(article);
  return article;
}

/** @param {Chunk} chunk */
function chunkView(chunk) {
  const words = element("p", { className: "words" }, chunk.text);
  const view = element("div", { className: "chunk", tabIndex: 0, "data-key": chunk.id }, words, chunkControls(chunk));
  view.classList.toggle("pinned", chunk.is_pinned);
  if (chunk.marks.tool) {
    view.classList.add("tool");
    view.title = `Result of the tool ${chunk.marks.tool.name || "that was called"}, not written by the model`;
  }
  return view;
}

/**
 * @param {Chunk[]} chunks
 * @param {boolean} isNewest
 */
function heading(chunks, isNewest) {
  const [first] = chunks;
  const header = element("header", {}, element("strong", { textContent: names()[first.role] }), element("time", { dateTime: first.time, textContent: moment(first.time) }));
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
