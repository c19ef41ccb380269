// Deleting from the memory tree, with the way back.

import { app } from "../shared/app.js";
import { post } from "../shared/api.js";
import { count } from "../shared/format.js";

// `from` is the element that asks; it tells the tree what changed.
export async function deleteEntries(from, path, recursive) {
  const answer = await app.attempt(() => post("/api/tree/delete", { path, recursive }));
  if (!answer) return;
  const tree = from.closest("halo-tree");
  const { paths } = answer;
  app.say(`Deleted: ${paths.length === 1 ? paths[0] : `${count(paths.length)} entries under ${path}`}.`, {
    action: { label: "Undo", run: () => bringBack(tree, paths) },
    seconds: 30,
  });
  changed(tree, "");
}

async function bringBack(tree, paths) {
  const answer = await app.attempt(() => post("/api/tree/undelete", { paths }));
  if (answer) changed(tree, paths[0]);
}

// The entry at `path` is to be shown; none if it is empty.
export const changed = (from, path) => from?.dispatchEvent(new CustomEvent("tree-changed", { bubbles: true, detail: path }));
