// Deleting from the conversation, with a way to undo it.

/** @import { Key } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { plural } from "../shared/format.js";
import { attempt, say } from "../shared/notices.js";

/**
 * @param {Key} key
 * @param {{ isExchange: boolean }} scope whether the question and its whole answer go
 */
export async function deleteChunk(key, scope) {
  const deletion = await attempt(() => app.api.delete(key, scope));
  if (!deletion) return;
  if (deletion.question) app.emit("hand-back", deletion.question);
  const undo = () => attempt(() => app.api.undelete(deletion.keys));
  say(deletionInWords(deletion.keys), { action: { label: "Undo", run: undo } });
}

/**
 * Its opening stands for the whole of a question.
 * @param {Key} key
 */
export const isQuestion = ({ role, chunk }) => role === "user" && chunk === 0;

/** @param {Key[]} keys */
function deletionInWords(keys) {
  const passages = plural(keys.length, "passage");
  const hasAnswer = keys.some(({ role }) => role === "assistant");
  if (keys.some(isQuestion)) return hasAnswer ? `Deleted the question and its answer (${passages}).` : `Deleted the question (${passages}).`;
  return `Deleted ${passages}.`;
}
