// What the speakers are called on this page.

/** @import { Role } from "./records.js" */
import { app } from "./app.js";

/** @typedef {Record<Role, string>} Names */

const STORAGE_KEY = "halo-names";
/** @type {Names} */
export const DEFAULT_NAMES = { user: "You", assistant: "Halo", system: "System" };

/** @returns {Partial<Names>} */
const chosenNames = () => JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");

/** @returns {Names} */
export const names = () => ({ ...DEFAULT_NAMES, ...chosenNames() });

/**
 * "Your" or "Ada's".
 * @param {Role} role
 */
export function possessive(role) {
  const name = names()[role];
  return name === "You" ? "Your" : `${name}'s`;
}

/**
 * An empty name brings the default back.
 * @param {Role} role
 * @param {string} name
 */
export function setName(role, name) {
  const { [role]: _, ...others } = chosenNames();
  const chosen = name.trim();
  localStorage.setItem(STORAGE_KEY, JSON.stringify(chosen ? { ...others, [role]: chosen } : others));
  app.emit("names");
}
