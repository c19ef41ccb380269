// Keys of chunks as text ("12.0.user"), and their numbers, which have no upper limit.

/** @import { Key } from "./records.js" */

/** @param {Key} key */
export const keyText = (key) => `${key.turn}.${key.chunk}.${key.role}`;

/**
 * Compares two numbers in decimal text.
 * @param {string} a
 * @param {string} b
 */
export const compareNumbers = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/** @param {Key} key */
export const turnNumber = (key) => BigInt(key.turn).toLocaleString("en");
