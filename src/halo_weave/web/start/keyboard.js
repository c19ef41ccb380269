// The keys that work everywhere on the page; what an element handled itself is left alone.

import { app } from "../shared/app.js";
import { openDialog } from "../dialogs/dialogs.js";
import { toggleGraveyard } from "../graveyard/graveyard.js";
import { hasLetterKeys } from "../shared/letter-keys.js";

const WITH_CONTROL = {
  k: () => openDialog("search"),
  "/": () => openDialog("help"),
  Enter: () => regenerate(),
};

const PLAIN = {
  g: () => toggleGraveyard(),
  n: () => openDialog("notes"),
  m: () => openDialog("tree"),
  w: () => app.setView(app.view === "weave" ? "read" : "weave"),
  p: () => app.dispatchEvent(new CustomEvent("pin")),
};

function regenerate() {
  app.showNow();
  app.attempt(() => app.api.regenerate());
}

const isForWriting = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;

function actionFor(event) {
  const isInDialog = document.querySelector("dialog[open]") !== null;
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) {
    const isAllowed = !isInDialog || event.key !== "Enter";
    return isAllowed ? WITH_CONTROL[event.key] : null;
  }
  if (isInDialog) return null;
  if (event.key === "Escape") return app.model.isBusy ? () => app.attempt(() => app.api.stop()) : null;
  if (!hasLetterKeys() || isForWriting(event.target) || event.shiftKey) return null;
  return PLAIN[event.key.toLowerCase()];
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.repeat) return;
  const action = actionFor(event);
  if (!action) return;
  event.preventDefault();
  action();
});
