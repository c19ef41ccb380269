// Deleting from the memory tree, with a way to undo it.

import { treeApi } from "../shared/api.js";
import { count } from "../shared/format.js";
import { attempt, say } from "../shared/notices.js";

/**
 * @param {string} path
 * @param {{ isRecursive: boolean, changed: (path: string) => void }} options `changed` is told which entry to show then,
 *   or an empty path for none
 */
export async function deleteEntries(path, { isRecursive, changed }) {
  const answer = await attempt(() => treeApi.delete(path, isRecursive));
  if (!answer) return;
  const { paths } = answer;
  const undo = async () => {
    const undone = await attempt(() => treeApi.undelete(paths));
    if (undone !== undefined) changed(paths[0]);
  };
  say(`Deleted ${paths.length === 1 ? paths[0] : `${count(paths.length)} entries under ${path}`}.`, { action: { label: "Undo", run: undo }, seconds: 30 });
  changed("");
}
