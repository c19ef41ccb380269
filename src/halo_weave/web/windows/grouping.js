// The order of the list: private windows, windows without a folder, then the folders by name.

/** @import { WindowEntry } from "../shared/records.js" */

/** @typedef {{ folder: string, entries: WindowEntry[] }} Group `folder` is empty for windows outside of folders */

/**
 * Windows that nobody has moved come first, the most recently saved first; then the others in their order.
 * @param {readonly WindowEntry[]} entries the most recently saved first
 * @returns {Group[]}
 */
export function grouped(entries) {
  /** @type {Map<string, WindowEntry[]>} */
  const folders = new Map([["", []]]);
  for (const entry of entries) folders.set(entry.folder, [...(folders.get(entry.folder) ?? []), entry]);
  return [...folders]
    .map(([folder, own]) => ({ folder, entries: own.sort((a, b) => rank(a) - rank(b)) }))
    .sort((a, b) => a.folder.localeCompare(b.folder));
}

/** @param {WindowEntry} entry */
const rank = ({ is_private: isPrivate, place }) => (isPrivate ? -2 : place ?? -1);

/**
 * @param {readonly WindowEntry[]} entries
 * @param {string} words
 */
export function matching(entries, words) {
  const wanted = words.toLowerCase().split(/\s+/u).filter(Boolean);
  return entries.filter(({ name, folder }) => wanted.every((word) => `${folder} ${name}`.toLowerCase().includes(word)));
}

/**
 * The ids of a folder's windows after one was put before another, or at the end.
 * @param {readonly WindowEntry[]} entries of the folder
 * @param {string} id
 * @param {string | null} before
 */
export function moved(entries, id, before) {
  const others = entries.filter((entry) => !entry.is_private && entry.id !== id).map((entry) => entry.id);
  const place = before === null ? -1 : others.indexOf(before);
  others.splice(place < 0 ? others.length : place, 0, id);
  return others;
}
