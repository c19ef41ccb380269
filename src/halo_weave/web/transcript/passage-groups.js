// Which passages are rendered as one text: those that follow each other in one turn, so that a list, a table or code is
// whole although it is cut into several.

/** @import { Key, Marks } from "../shared/records.js" */

const MOST_TOGETHER = 80_000; // characters; the server shows much longer texts without Markdown

/** @typedef {{ turn: string, place: number, length: number }} Placed */

/**
 * @template T
 * @param {Iterable<T>} passages in order
 * @param {(passage: T) => Placed} placed
 * @returns {T[][]}
 */
export function grouped(passages, placed) {
  /** @type {T[][]} */
  const groups = [];
  let [next, size] = [{ turn: "", place: -1 }, 0];
  for (const passage of passages) {
    const { turn, place, length } = placed(passage);
    size += length;
    if (turn === next.turn && place === next.place && size <= MOST_TOGETHER) groups[groups.length - 1].push(passage);
    else {
      groups.push([passage]);
      size = length;
    }
    next = { turn, place: place + 1 };
  }
  return groups;
}

/**
 * The texts that are rendered to show these passages.
 * @param {readonly { key: Key, text: string, marks: Marks }[]} passages in order
 */
export function textsOf(passages) {
  const said = passages.filter(({ marks }) => !marks.tool);
  const groups = grouped(said, ({ key, text }) => ({ turn: `${key.turn}.${key.role}`, place: key.chunk, length: text.length }));
  return groups.map((group) => group.map(({ text }) => text).join(""));
}
