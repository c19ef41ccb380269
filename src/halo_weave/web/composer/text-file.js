// A text file as a marked block of a message.

import { count } from "../shared/format.js";

/** A model reads a token for every three or four of them, so that few models have room for more. */
export const MOST_BYTES = 1_000_000;

/** @typedef {{ name: string, text: string }} TextFile */

/**
 * Throws an error whose message says why a file cannot be attached.
 * @param {File} file
 * @returns {Promise<TextFile>}
 */
export async function readTextFile(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has ${count(file.size)} bytes; at most ${count(MOST_BYTES)} can be attached. Nothing was attached.`);
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return { name: file.name, text: text.replaceAll("\r\n", "\n") };
  } catch {
    // told below
  }
  throw new Error(`${file.name} is not a text file in UTF-8. Nothing was attached.`);
}

/**
 * The files before the words, each in a fence that is longer than any inside of it.
 * @param {TextFile[]} files
 * @param {string} words
 */
export function withFiles(files, words) {
  return [...files.map(block), words].filter((part) => part.trim()).join("\n\n");
}

/** @param {TextFile} file */
function block({ name, text }) {
  const longest = Math.max(2, ...[...text.matchAll(/^`+/gmu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const kind = /\.(\w{1,12})$/u.exec(name)?.[1] ?? "";
  return `Attached file: ${name.replaceAll(/\s+/gu, " ")}\n${fence}${kind}\n${text.replace(/\n$/u, "")}\n${fence}`;
}
