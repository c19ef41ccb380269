// Tells plain text from JSON in what a person typed where both are welcome.

import { jsonProblem } from "./json-problem.js";

/**
 * Whether a text is meant as it stands: it is not JSON, and does not begin like an object, a list or a string. One that
 * does begin like this and is not valid JSON has a mistake in it.
 * @param {string} text
 */
export function isPlainText(text) {
  const stripped = text.trim();
  return stripped !== "" && !/^[[{"]/u.test(stripped) && jsonProblem(stripped) !== "";
}

/**
 * What is wrong with a text that may be either, in a sentence; empty if nothing is.
 * @param {string} text
 */
export function contentProblem(text) {
  if (!text.trim()) return "Write some text, or JSON.";
  return isPlainText(text) ? "" : jsonProblem(text);
}

/**
 * The JSON of what was typed.
 * @param {string} text
 */
export const asDocument = (text) => (isPlainText(text) ? JSON.stringify(text) : text);

/**
 * How content is shown to be edited, so that saving it unchanged changes nothing.
 * @param {{ content: unknown, document: string }} entry
 */
export const asTyped = ({ content, document }) => (typeof content === "string" && isPlainText(content) ? content : document);
