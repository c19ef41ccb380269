// The list of windows: switch, begin, rename, close, delete.

/** @import { WindowEntry } from "../shared/records.js" */
/** @import { ShownEntry } from "./window-row.js" */
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { element } from "../shared/element.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { WindowRow } from "./window-row.js";

export class Windows extends Part {
  /** @type {readonly WindowEntry[]} */
  #entries = [];
  /** @type {Map<string, WindowRow>} */
  #rows = new Map(); // by id
  #list = element("div", { role: "list" });

  start() {
    const begin = element("button", { className: "item new-window", textContent: "+ New window", onclick: () => this.#begin() });
    this.replaceChildren(element("section", {}, element("h2", { textContent: "Windows" }), this.#list, begin));
    this.follow(app.program, "windows", (entries) => this.#take(entries));
    this.follow(app, "connected", () => this.#load());
    this.follow(app, "window", () => this.#draw());
    this.follow(app.model, ["reset", "meta", "status"], () => this.#draw());
    this.hear("window-gone", (id) => this.#leave(id));
    this.#load();
  }

  async #load() {
    const entries = await programApi.windows().catch(() => null); // the page says elsewhere that the server is away
    if (entries) app.program.setWindows(entries);
  }

  /** @param {readonly WindowEntry[]} entries */
  #take(entries) {
    /** @param {readonly WindowEntry[]} list */
    const isMissing = (list) => !list.some(({ id }) => id === app.windowId);
    const wasDeleted = !isMissing(this.#entries) && isMissing(entries); // by another tab
    this.#entries = entries;
    this.#draw();
    if (wasDeleted) this.#leave(app.windowId);
  }

  #draw() {
    const rows = this.#entries.map((entry) => {
      const row = this.#rows.get(entry.id) ?? new WindowRow();
      this.#rows.set(entry.id, row);
      row.show(this.#asSeenHere(entry));
      return row;
    });
    const known = new Set(this.#entries.map(({ id }) => id));
    for (const id of this.#rows.keys()) if (!known.has(id)) this.#rows.delete(id);
    arrange(this.#list, rows);
  }

  /**
   * This tab knows its own window better than the list does.
   * @param {WindowEntry} entry
   * @returns {ShownEntry}
   */
  #asSeenHere(entry) {
    const isCurrent = entry.id === app.windowId;
    const isOnly = this.#entries.length === 1;
    const { info, status } = app.model;
    if (!isCurrent || info?.id !== entry.id) return { ...entry, isCurrent, isOnly };
    return { ...entry, isCurrent, isOnly, is_open: true, tokens: info.tokens, doing: status };
  }

  async #begin() {
    const state = await attempt(() => programApi.newWindow(this.#freeName()));
    if (!state) return;
    app.open(state.id);
    await this.#load();
    const row = this.#rows.get(state.id);
    if (row?.checkVisibility({ visibilityProperty: true })) row.rename();
  }

  #freeName() {
    const taken = new Set(this.#entries.map(({ name }) => name));
    let number = this.#entries.length + 1;
    while (taken.has(`Window ${number}`)) number += 1;
    return `Window ${number}`;
  }

  /** @param {string} id */
  async #leave(id) {
    if (id !== app.windowId) return;
    const other = this.#entries.find((entry) => entry.id !== id);
    if (other) app.open(other.id);
    else await this.#begin();
  }
}

customElements.define("halo-windows", Windows);
