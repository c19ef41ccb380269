// One dialog for everything that is not always on the page. Its contents are elements of their own, made when opened.

import { element } from "../shared/format.js";
import { Part } from "../shared/part.js";
import "../engine/engine.js";
import "../figures/figures.js";
import "../help/help.js";
import "../jobs/jobs.js";
import "../notes/notes.js";
import "../search/search.js";
import "../settings/settings.js";
import "../tools/tool-log.js";
import "../transfer/transfer.js";
import "../tree/tree.js";

const CONTENTS = {
  search: ["Search the memory", "halo-search"],
  settings: ["Settings", "halo-settings"],
  figures: ["Figures", "halo-figures"],
  transfer: ["Export, import, backup", "halo-transfer"],
  engine: ["The model", "halo-engine"],
  help: ["Help", "halo-help"],
  tree: ["Memory tree", "halo-tree"],
  notes: ["Notes", "halo-notes"],
  tools: ["Tool calls", "halo-tool-log"],
};

class Dialogs extends Part {
  #title = element("h2", { id: "dialog-title" });
  #body = element("div", { className: "dialog-body" });
  #dialog = element("dialog", { "aria-labelledby": "dialog-title" });

  start() {
    const close = element("button", { className: "icon-button", textContent: "×", "aria-label": "Close", onclick: () => this.#dialog.close() });
    this.#dialog.append(element("header", {}, this.#title, close), this.#body);
    this.replaceChildren(this.#dialog);
    // Told a moment after it was closed; by then it may be open again with something else.
    this.#dialog.addEventListener("close", () => this.#dialog.open || this.#clear());
    this.#dialog.addEventListener("mousedown", (event) => event.target === this.#dialog && this.#dialog.close());
    this.follow(this.#body, "done", () => this.#dialog.close());
    this.follow(this.#body, "show-dialog", ({ detail }) => this.open(detail.name, detail.at));
    for (const name of Object.keys(CONTENTS)) this.#wire(`open-${name}`, name);
    this.#wire("engine", "engine");
  }

  // `at` is the part of the content to begin with, if it has parts.
  open(name, at = "") {
    const [title, tag] = CONTENTS[name];
    this.#title.textContent = title;
    this.#dialog.dataset.name = name;
    const content = document.createElement(tag);
    if (at) content.setAttribute("at", at);
    this.#body.replaceChildren(content);
    this.#body.scrollTop = 0;
    this.#body.tabIndex = content.querySelector("button, input, a") ? -1 : 0; // text alone is scrolled by keys
    if (!this.#dialog.open) {
      this.#dialog.showModal();
      this.#takeAlong(this.#dialog);
    }
    content.querySelector("[autofocus]")?.focus();
  }

  #wire(id, name) {
    const button = document.getElementById(id);
    if (!button) return;
    button.setAttribute("aria-haspopup", "dialog");
    button.addEventListener("click", () => this.open(name));
  }

  #clear() {
    this.#body.replaceChildren();
    this.#takeAlong(document.body);
  }

  // What is outside of an open dialog can neither be seen nor heard.
  #takeAlong(place) {
    for (const id of ["toasts", "announcer"]) {
      const one = document.getElementById(id);
      if (one) place.append(one);
    }
  }
}

customElements.define("halo-dialogs", Dialogs);

export const openDialog = (name, at) => document.querySelector("halo-dialogs")?.open(name, at);
