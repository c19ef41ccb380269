// What was typed and not sent, and what was sent and has not arrived, for each window. The browser keeps it, but for
// private windows: what is typed there stays in this tab.

import { isPrivate } from "../windows/window-kind.js";

/** @type {Map<string, string>} */
const ofPrivateWindows = new Map();

/**
 * @param {"draft" | "sent"} kind
 * @param {string} windowId
 */
export function kept(kind, windowId) {
  const name = `halo-${kind}-${windowId}`;
  return (isPrivate(windowId) ? ofPrivateWindows.get(name) : localStorage.getItem(name)) ?? null;
}

/**
 * @param {"draft" | "sent"} kind
 * @param {string} windowId
 * @param {string | null} text null for none
 */
export function keep(kind, windowId, text) {
  const name = `halo-${kind}-${windowId}`;
  if (isPrivate(windowId)) {
    if (text === null) ofPrivateWindows.delete(name);
    else ofPrivateWindows.set(name, text);
  } else if (text === null) localStorage.removeItem(name);
  else localStorage.setItem(name, text);
}
