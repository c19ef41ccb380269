// The panel at the right, which can be hidden.

import { app } from "../shared/app.js";

const STORAGE_KEY = "halo-graveyard";
const covers = matchMedia("(max-width: 1080px)");

/** Whether the panel lies over the conversation. */
export const isOverConversation = () => covers.matches;

export const isGraveyardShown = () => !document.getElementById("right")?.hidden;

/** Whether it is shown when the page starts. */
export const isShownAtStart = () => !covers.matches && localStorage.getItem(STORAGE_KEY) !== "closed";

/**
 * Show or hide the panel; the other of both by default.
 * @param {boolean} isWanted
 * @param {{ isKept?: boolean }} [options] whether the browser remembers it
 */
export function toggleGraveyard(isWanted = !isGraveyardShown(), { isKept = true } = {}) {
  const panel = document.getElementById("right");
  if (!panel) return;
  panel.hidden = !isWanted;
  document.getElementById("toggle-right")?.setAttribute("aria-expanded", String(isWanted));
  if (isKept) localStorage.setItem(STORAGE_KEY, isWanted ? "open" : "closed");
  app.emit("graveyard", isWanted);
}
