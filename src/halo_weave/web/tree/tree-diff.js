// The differences between two texts, line by line.

import { element } from "../shared/element.js";

/** @typedef {[sign: " " | "-" | "+", text: string]} DiffLine */

const MOST_CELLS = 4_000_000; // beyond this all lines between the first and the last difference count as changed

/**
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function differences(before, after) {
  const [left, right] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const middle = between(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return [...signed(" ", left.slice(0, start)), ...middle, ...signed(" ", left.slice(left.length - end))];
}

/**
 * @param {DiffLine[0]} sign
 * @param {string[]} lines
 * @returns {DiffLine[]}
 */
const signed = (sign, lines) => lines.map((text) => [sign, text]);

/**
 * By the longest common subsequence.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {DiffLine[]}
 */
function between(left, right) {
  if (left.length * right.length > MOST_CELLS) return [...signed("-", left), ...signed("+", right)];
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let row = left.length - 1; row >= 0; row -= 1)
    for (let column = right.length - 1; column >= 0; column -= 1)
      lengths[row][column] = left[row] === right[column] ? lengths[row + 1][column + 1] + 1 : Math.max(lengths[row + 1][column], lengths[row][column + 1]);
  /** @type {DiffLine[]} */
  const lines = [];
  let [row, column] = [0, 0];
  while (row < left.length && column < right.length) {
    if (left[row] === right[column]) {
      lines.push([" ", left[row]]);
      row += 1;
      column += 1;
    } else if (lengths[row + 1][column] >= lengths[row][column + 1]) lines.push(["-", left[row++]]);
    else lines.push(["+", right[column++]]);
  }
  return [...lines, ...signed("-", left.slice(row)), ...signed("+", right.slice(column))];
}

/** @type {Record<DiffLine[0], "del" | "ins" | "span">} */
const TAGS = { "-": "del", "+": "ins", " ": "span" };

/**
 * @param {string} before
 * @param {string} after
 */
export function diffView(before, after) {
  const view = element("pre", { className: "diff mono", tabIndex: 0, "aria-label": "Differences" });
  for (const [sign, text] of differences(before, after)) {
    view.append(element(TAGS[sign], { textContent: `${sign} ${text}\n` }));
  }
  return view;
}
