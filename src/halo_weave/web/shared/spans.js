// Ranges of characters of a text, as the server counts them: by characters, where the page counts UTF-16 units.

/** @import { Span } from "./records.js" */

/**
 * The same ranges in UTF-16 units.
 * @param {string} text
 * @param {Span[]} spans
 * @returns {Span[]}
 */
export function unitsOf(text, spans) {
  if (!spans.length) return [];
  const letters = [...text];
  /** @param {number} place */
  const unit = (place) => letters.slice(0, place).join("").length;
  return spans.map(([start, end]) => [unit(start), unit(end)]);
}
