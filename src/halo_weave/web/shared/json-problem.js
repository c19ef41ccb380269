// Whether a text is JSON, for editors.

import { errorText } from "./request.js";

/**
 * What is wrong with it, in a sentence; empty if nothing is.
 * @param {string} text
 */
export function jsonProblem(text) {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not valid JSON yet: ${errorText(error)}.`;
  }
}
