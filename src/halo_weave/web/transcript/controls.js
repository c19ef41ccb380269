// The buttons of a message and of a chunk.

/** @import { ChunkAction } from "../shared/api.js" */
/** @import { Said } from "./conversation.js" */
import { resurrect } from "../graveyard/returning.js";
import { app } from "../shared/app.js";
import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/element.js";
import { attempt, say } from "../shared/notices.js";
import { deleteChunk, isQuestion } from "./deleting.js";

/**
 * @param {Said[]} chunks of one turn
 * @param {boolean} isNewest whether it is the newest reply
 */
export function messageControls(chunks, isNewest) {
  const [{ key, turn, role }] = chunks;
  const bar = element("span", { className: "controls" });
  const text = () => chunks.map((chunk) => chunk.text).join("");
  const copy = async () => {
    if (await copyText(text())) say("Copied.", { seconds: 2 });
  };
  const edit = () => app.emit("edit", { turn, role, text: text() });
  bar.append(button("Copy", "Copy this message", copy));
  if (role === "user" && !chunks.some((chunk) => chunk.isOut)) bar.append(button("Edit", "Rewrite this message and send it again", edit));
  if (role === "assistant" && isNewest) {
    bar.append(
      button("Edit", "Replace the text of this reply; the model continues from yours", edit),
      button("Regenerate", "Generate this reply again (Ctrl+Enter)", () => attempt(() => app.api.regenerate())),
      button("Continue", "Let the model continue this reply", () => attempt(() => app.api.continue())),
    );
  }
  if (role === "assistant") bar.append(button("Delete", "Delete this reply and its question in all windows; can be undone", () => deleteChunk(key, { isExchange: true })));
  return bar;
}

/** @param {Said} chunk */
export function chunkControls({ key, is_pinned: isPinned, marks, isOut }) {
  const bar = element("div", { className: "controls" });
  /** @param {ChunkAction} action */
  const act = (action) => () => attempt(() => app.api.chunk(key, action));
  if (isOut) bar.append(button("Bring back", "Bring this back into context and pin it", () => resurrect(key)));
  else bar.append(isPinned ? button("Unpin", "Allow this to be buried again", act("unpin")) : button("Pin", "Never bury this (P)", act("pin")));
  if (key.chunk > 0 && !marks.tool && !isOut) bar.append(button("Merge", "Merge with the previous chunk", act("merge")));
  const what = isQuestion(key) ? "this question and its answer" : "this passage";
  bar.append(button("Delete", `Delete ${what} in all windows; can be undone`, () => deleteChunk(key, { isExchange: false })));
  return bar;
}

/**
 * @param {string} label
 * @param {string} title
 * @param {() => void} onclick
 */
const button = (label, title, onclick) => element("button", { textContent: label, title, onclick, "aria-label": `${label}: ${title}` });
