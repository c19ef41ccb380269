// One turn in the transcript: who, when, its chunks, and what can be done with them.

import { app } from "../shared/app.js";
import { copyText } from "../shared/clipboard.js";
import { element, moment, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { rendered } from "../shared/rendering.js";

export function turnView(chunks, { isNewest, gaps }) {
  const [first] = chunks;
  const article = element("article", { className: `turn ${first.role}`, "data-turn": `${first.turn}.${first.role}` });
  article.setAttribute("aria-label", `${names()[first.role]}, ${moment(first.time)}`);
  article.append(heading(chunks, isNewest));
  for (const chunk of chunks) {
    if (chunk !== first && gaps.has(chunk.id)) article.append(gaps.get(chunk.id));
    article.append(chunkView(chunk));
  }
  return article;
}

export function chunkView(chunk) {
  const words = element("p", { className: "words" }, chunk.text);
  const view = element("div", { className: "chunk", tabIndex: 0 }, words, controls(chunk));
  view.dataset.key = chunk.id;
  view.classList.toggle("pinned", chunk.is_pinned);
  if (chunk.marks.tool) {
    view.classList.add("tool");
    view.title = `Said by the tool ${chunk.marks.tool.name || "that was called"}, not by the model`;
  }
  return view;
}

// Put the chunk's Markdown in place of its bare words, once it is there.
export async function showRendered(view, chunk) {
  if (view.querySelector(".rendered") || chunk.marks.tool) return;
  const html = await rendered(chunk.text);
  if (html === null || !view.isConnected || view.querySelector(".rendered")) return;
  const made = element("div", { className: "rendered" });
  made.innerHTML = html; // sanitised by the server, and the page allows no script but its own
  makeUsable(made);
  view.querySelector(".words").after(made);
}

// Code can be copied, and a table that is wider than its place can be scrolled with the keyboard.
export function makeUsable(root) {
  for (const table of root.querySelectorAll("table")) table.tabIndex = 0;
  addCopyButtons(root);
}

function addCopyButtons(root) {
  for (const block of root.querySelectorAll("pre")) {
    const button = element("button", { className: "copy outlined", textContent: "Copy" });
    button.onclick = async () => {
      if (!(await copyText(block.querySelector("code")?.textContent ?? block.textContent))) return;
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    block.append(button);
  }
}

function heading(chunks, isNewest) {
  const [first] = chunks;
  const header = element("header", {}, element("strong", { textContent: names()[first.role] }), element("time", { dateTime: first.time, textContent: moment(first.time) }));
  const returned = chunks.find((chunk) => chunk.returned);
  if (returned) header.append(badge("returned", "returned", returned.returned));
  if (chunks.some((chunk) => chunk.is_pinned)) header.append(badge("pin", "pinned", "Pinned chunks are never buried."));
  const ending = chunks[chunks.length - 1].marks.ending;
  if (ending && ending !== "end") header.append(badge("ending", ending, endingInWords(ending)));
  if (chunks.some((chunk) => chunk.marks.edited)) header.append(badge("edited", "edited", "You changed the words of this reply."));
  if (first.marks.reflection) header.append(badge("reflection", "reflection", "The model was asked to sum up."));
  if (chunks.some((chunk) => chunk.is_foreign)) header.append(badge("foreign", "other model", "Written with another model and read in the tokens of this one."));
  header.append(messageControls(chunks, isNewest));
  return header;
}

const endingInWords = (ending) =>
  ({ stopped: "You stopped this reply.", length: "The reply was as long as it may be; Continue lets it go on.", interrupted: "The program ended in the middle of this reply.", failed: "The engine failed in the middle of this reply." })[ending] ?? ending;

const badge = (kind, text, title) => element("span", { className: `badge ${kind}`, textContent: text, title });

function messageControls(chunks, isNewest) {
  const [first] = chunks;
  const bar = element("span", { className: "controls" });
  const text = () => chunks.map((chunk) => chunk.text).join("");
  bar.append(button("Copy", "Copy this message", async () => {
    if (await copyText(text())) app.say("Copied.", { seconds: 2 });
  }));
  const edit = () => app.dispatchEvent(new CustomEvent("edit", { detail: { turn: first.turn, role: first.role, text: text() } }));
  if (first.role === "user") bar.append(button("Edit", "Ask this in other words", edit));
  if (first.role === "assistant" && isNewest) {
    bar.append(button("Edit", "Put other words in its place; the model goes on from them", edit));
    bar.append(button("Regenerate", "Have it answered again (Ctrl+Enter)", () => app.attempt(() => app.api.regenerate())));
    bar.append(button("Continue", "Let the model write on", () => app.attempt(() => app.api.continue())));
  }
  if (first.role === "assistant") bar.append(button("Delete", "Delete this reply and its question for all windows; can be undone", () => deleteExchange(first)));
  return bar;
}

function controls(chunk) {
  const bar = element("div", { className: "controls" });
  const act = (action) => () => app.attempt(() => app.api.chunk(chunk.key, action));
  bar.append(chunk.is_pinned ? button("Unpin", "May be buried again", act("unpin")) : button("Pin", "Never bury this (P)", act("pin")));
  if (chunk.key.chunk > 0 && !chunk.marks.tool) bar.append(button("Merge", "Merge with the chunk before", act("merge")));
  const what = isQuestion(chunk.key) ? "this question and its answer" : "this passage";
  bar.append(button("Delete", `Delete ${what} for all windows; can be undone`, () => deleteChunk(chunk)));
  return bar;
}

export const deleteChunk = (chunk) => deleteBy(chunk, "delete");

const deleteExchange = (chunk) => deleteBy(chunk, "delete?exchange=true");

async function deleteBy(chunk, action) {
  const deletion = await app.attempt(() => app.api.chunk(chunk.key, action));
  if (!deletion) return;
  if (deletion.question) app.dispatchEvent(new CustomEvent("hand-back", { detail: deletion.question }));
  app.say(deletionInWords(deletion.keys), {
    action: { label: "Undo", run: () => app.attempt(() => app.api.undelete(deletion.keys)) },
  });
}

// Its opening stands for the whole of a question.
const isQuestion = ({ role, chunk }) => role === "user" && chunk === 0;

function deletionInWords(keys) {
  const passages = plural(keys.length, "passage");
  const hasAnswer = keys.some(({ role }) => role === "assistant");
  if (keys.some(isQuestion)) return hasAnswer ? `Deleted the question and its answer: ${passages}.` : `Deleted the question: ${passages}.`;
  return `Deleted ${passages}.`;
}

function button(label, title, onclick) {
  return element("button", { textContent: label, title, onclick, "aria-label": `${label}: ${title}` });
}
