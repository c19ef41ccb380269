// One dialog for the panels that are not always on the page. Their elements are created when they are opened.

/** @import { DialogName } from "../shared/events.js" */
import { Engine } from "../engine/engine.js";
import { Figures } from "../figures/figures.js";
import { Help } from "../help/help.js";
import { Notes } from "../notes/notes.js";
import { Search } from "../search/search.js";
import { Settings } from "../settings/settings.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { ToolLog } from "../tools/tool-log.js";
import { Transfer } from "../transfer/transfer.js";
import { Tree } from "../tree/tree.js";
import { WindowNotes } from "../windows/window-notes.js";

/** @type {Record<DialogName, { title: string, Content: new () => Part, opener: string }>} */
const CONTENTS = {
  search: { title: "Search the memory", Content: Search, opener: "open-search" },
  settings: { title: "Settings", Content: Settings, opener: "open-settings" },
  figures: { title: "Figures", Content: Figures, opener: "open-figures" },
  transfer: { title: "Export, import, backup", Content: Transfer, opener: "open-transfer" },
  engine: { title: "Model", Content: Engine, opener: "engine" },
  help: { title: "Help", Content: Help, opener: "open-help" },
  tree: { title: "Memory tree", Content: Tree, opener: "open-tree" },
  notes: { title: "Notes", Content: Notes, opener: "open-notes" },
  window: { title: "Notes and presets of this window", Content: WindowNotes, opener: "open-window-notes" },
  tools: { title: "Tool calls", Content: ToolLog, opener: "open-tools" },
};
const NAMES = /** @type {DialogName[]} */ (Object.keys(CONTENTS));

export class Dialogs extends Part {
  #title = element("h2", { id: "dialog-title" });
  #body = element("div", { className: "dialog-body" });
  #dialog = element("dialog", { "aria-labelledby": "dialog-title" });

  start() {
    const close = element("button", { className: "icon-button", textContent: "×", "aria-label": "Close", onclick: () => this.#dialog.close() });
    this.#dialog.replaceChildren(element("header", {}, this.#title, close), this.#body);
    this.replaceChildren(this.#dialog);
    // Emitted a moment after it was closed; by then it may be open again with something else.
    this.listen(this.#dialog, "close", () => this.#dialog.open || this.#clear());
    this.listen(this.#dialog, "mousedown", (event) => event.target === this.#dialog && this.#dialog.close());
    this.hear("done", () => this.#dialog.close());
    this.hear("show-dialog", ({ name, at }) => this.open(name, at));
    for (const name of NAMES) this.#wire(name);
  }

  /**
   * @param {DialogName} name
   * @param {string} at the section to begin with, if it has sections
   */
  open(name, at = "") {
    const { title, Content } = CONTENTS[name];
    this.#title.textContent = title;
    this.#dialog.dataset.name = name;
    const content = new Content();
    if (at) content.setAttribute("at", at);
    this.#body.replaceChildren(content);
    this.#body.scrollTop = 0;
    this.#body.tabIndex = content.querySelector("button, input, a") ? -1 : 0; // text alone is scrolled by keys
    if (!this.#dialog.open) {
      this.#dialog.showModal();
      this.#takeAlong(this.#dialog);
    }
    const first = content.querySelector("[autofocus]");
    if (first instanceof HTMLElement) first.focus();
  }

  /** @param {DialogName} name */
  #wire(name) {
    const button = document.getElementById(CONTENTS[name].opener);
    if (!button) return;
    button.setAttribute("aria-haspopup", "dialog");
    this.listen(button, "click", () => this.open(name));
  }

  #clear() {
    this.#body.replaceChildren();
    this.#takeAlong(document.body);
  }

  /**
   * Messages outside an open dialog are neither visible nor read aloud.
   * @param {Element} place
   */
  #takeAlong(place) {
    for (const id of ["toasts", "announcer"]) {
      const one = document.getElementById(id);
      if (one) place.append(one);
    }
  }
}

customElements.define("halo-dialogs", Dialogs);

/** @param {DialogName} name */
export function openDialog(name) {
  const dialogs = document.querySelector("halo-dialogs");
  if (dialogs instanceof Dialogs) dialogs.open(name);
}
