// The keys that work everywhere on the page, unless an element has handled them.

import { openDialog } from "../dialogs/dialogs.js";
import { toggleGraveyard } from "../graveyard/panel.js";
import { app } from "../shared/app.js";
import { hasLetterKeys } from "../shared/letter-keys.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";

/** @type {Record<string, (() => void) | undefined>} */
const WITH_CONTROL = {
  k: () => openDialog("search"),
  "/": () => openDialog("help"),
  Enter: () => regenerate(),
};

/** @type {Record<string, (() => void) | undefined>} */
const LETTERS = {
  g: () => toggleGraveyard(),
  n: () => openDialog("notes"),
  m: () => openDialog("tree"),
  w: () => app.setView(app.view === "weave" ? "read" : "weave"),
  p: () => app.emit("pin"),
};

/** Has nothing to show. */
export class Keyboard extends Part {
  start() {
    this.listen(document, "keydown", (event) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const action = actionFor(event);
      if (!action) return;
      event.preventDefault();
      action();
    });
  }
}

/** @param {KeyboardEvent} event */
function actionFor(event) {
  const isInDialog = document.querySelector("dialog[open]") !== null;
  if (event.altKey) return undefined;
  if (event.ctrlKey || event.metaKey) return isInDialog && event.key === "Enter" ? undefined : WITH_CONTROL[event.key];
  if (isInDialog) return undefined;
  if (event.key === "Escape") return app.model.isBusy ? () => void attempt(() => app.api.stop()) : undefined;
  if (!hasLetterKeys() || isTextField(event.target) || event.shiftKey) return undefined;
  return LETTERS[event.key.toLowerCase()];
}

function regenerate() {
  app.showNow();
  attempt(() => app.api.regenerate());
}

/** @param {EventTarget | null} target */
const isTextField = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;

customElements.define("halo-keyboard", Keyboard);
