// What changed in the context at a moment, in words.

/** @import { ChangeKind, ContextChange, Key } from "../shared/records.js" */
import { plural } from "../shared/format.js";
import { names } from "../shared/names.js";

/** @type {Record<ChangeKind, string>} */
const WORDS = {
  said: "said",
  returned: "returned",
  undeleted: "restored",
  buried: "buried",
  deleted: "deleted",
  pinned: "pinned",
  unpinned: "unpinned",
  merged: "merged",
};

/**
 * For example "Your message, 2 passages returned, 1 passage buried".
 * @param {ContextChange[]} changes
 */
export function summary(changes) {
  const said = changes.filter(({ kind }) => kind === "said").map(({ key }) => speech(key));
  const kinds = new Set(changes.map(({ kind }) => kind).filter((kind) => kind !== "said"));
  const others = [...kinds].map((kind) => `${plural(changes.filter((one) => one.kind === kind).length, "passage")} ${WORDS[kind]}`);
  return [...new Set(said), ...others].join(", ");
}

/** @param {ContextChange} change */
export function inWords({ kind, key, is_pinned: isPinned }) {
  const alsoPinned = isPinned && kind === "returned" ? " and pinned" : "";
  return kind === "said" ? speech(key) : `${WORDS[kind]}${alsoPinned}`;
}

/** @param {Key} key */
function speech({ role }) {
  const name = names()[role];
  if (role === "user") return name === "You" ? "Your message" : `${name}'s message`;
  return `${name}'s reply`;
}
