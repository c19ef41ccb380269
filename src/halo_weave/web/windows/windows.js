// The list of windows: find, switch, begin, rename, file, put in order, close, delete.

/** @import { WindowEntry, WindowKind } from "../shared/records.js" */
/** @import { Group } from "./grouping.js" */
/** @import { ShownEntry } from "./window-row.js" */
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { element } from "../shared/element.js";
import { announce, attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { makeSortable } from "./dragging.js";
import { grouped, matching, moved } from "./grouping.js";
import { WindowRow } from "./window-row.js";

const FOLDED = "halo-folded-folders";

export class Windows extends Part {
  /** @type {readonly WindowEntry[]} */
  #entries = [];
  /** @type {Map<string, WindowRow>} */
  #rows = new Map(); // by id
  /** @type {Map<string, HTMLDetailsElement>} */
  #folders = new Map(); // by name
  #loose = element("div", { role: "list", "data-folder": "" });
  #groups = element("div", { className: "window-groups" }, this.#loose);
  #find = element("input", { type: "search", className: "field", placeholder: "Find a window", "aria-label": "Find a window", hidden: true });
  #none = element("p", { className: "quiet", textContent: "No window has this name.", hidden: true });

  start() {
    const begin = element(
      "div",
      { className: "new-windows" },
      beginner("+ New window", "Begin a new conversation", () => this.#begin("ordinary")),
      beginner("+ Fresh", "Begin without recall: earlier conversations do not return until you turn recall on", () => this.#begin("fresh")),
      beginner("+ Private", "Begin a conversation of which nothing is saved", () => this.#begin("private")),
    );
    this.replaceChildren(element("section", {}, element("h2", { textContent: "Windows" }), this.#find, this.#groups, this.#none, begin));
    this.#find.oninput = () => this.#draw();
    this.listen(this.#groups, "keydown", (event) => this.#press(event));
    makeSortable(this, this.#groups, (id, folder, before) => this.#move(id, folder, before));
    this.follow(app.program, "windows", (entries) => this.#take(entries));
    this.follow(app, "connected", () => this.#load());
    this.follow(app, "window", () => this.#draw());
    this.follow(app.model, ["reset", "meta", "status"], () => this.#draw());
    this.hear("window-gone", (id) => this.#leave(id));
    this.hear("window-moved", ({ id, step }) => this.#step(id, step));
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
    const known = new Set(this.#entries.map(({ id }) => id));
    for (const id of this.#rows.keys()) if (!known.has(id)) this.#rows.delete(id);
    this.#find.hidden = this.#entries.length < 2 && !this.#find.value;
    const found = matching(this.#entries, this.#find.value);
    this.#none.hidden = found.length > 0 || !this.#find.value;
    const groups = grouped(found);
    arrange(this.#groups, groups.map((group) => this.#groupView(group)));
  }

  /** @param {Group} group */
  #groupView({ folder, entries }) {
    const rows = entries.map((entry) => {
      const row = this.#rows.get(entry.id) ?? new WindowRow();
      this.#rows.set(entry.id, row);
      row.show(this.#asSeenHere(entry));
      return row;
    });
    if (!folder) {
      arrange(this.#loose, rows);
      return this.#loose;
    }
    const view = this.#folders.get(folder) ?? folderView(folder);
    this.#folders.set(folder, view);
    if (this.#find.value) view.open = true;
    if (view.lastElementChild) arrange(view.lastElementChild, rows);
    return view;
  }

  /**
   * This tab knows its own window better than the list does.
   * @param {WindowEntry} entry
   * @returns {ShownEntry}
   */
  #asSeenHere(entry) {
    const isCurrent = entry.id === app.windowId;
    const isOnly = this.#entries.length === 1;
    const folders = [...new Set(this.#entries.map(({ folder }) => folder).filter(Boolean))];
    const { info, status } = app.model;
    const shown = { ...entry, isCurrent, isOnly, folders };
    if (!isCurrent || info?.id !== entry.id) return shown;
    return { ...shown, is_open: true, tokens: info.tokens, doing: status };
  }

  /** @param {WindowKind} kind */
  async #begin(kind) {
    const state = await attempt(() => programApi.newWindow(kind));
    if (!state) return;
    app.open(state.id);
    await this.#load();
    document.getElementById("composer-input")?.focus();
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const row = event.target instanceof Element ? event.target.closest("halo-window-row") : null;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step || !(row instanceof WindowRow) || (event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (event.altKey) return void this.#step(row.windowId, step);
    const shown = [...this.#rows.values()].filter((one) => one.checkVisibility()).sort((a, b) => (a.compareDocumentPosition(b) & 2 ? 1 : -1));
    shown[shown.indexOf(row) + step]?.focusName();
  }

  /**
   * @param {string} id
   * @param {1 | -1} step
   */
  async #step(id, step) {
    const entries = this.#ofFolder(this.#entries.find((entry) => entry.id === id)?.folder ?? "").filter((entry) => !entry.is_private);
    const place = entries.findIndex((entry) => entry.id === id);
    const other = entries[place + step];
    if (place < 0 || !other) return;
    const before = step < 0 ? other.id : entries[place + 2]?.id ?? null;
    await this.#move(id, other.folder, before);
    this.#rows.get(id)?.focusName();
    announce(`${entries[place].name}: place ${place + step + 1} of ${entries.length}.`);
  }

  /**
   * @param {string} id
   * @param {string} folder
   * @param {string | null} before null for the end
   */
  async #move(id, folder, before) {
    const order = moved(this.#ofFolder(folder), id, before);
    if (await attempt(() => programApi.orderWindows(folder, order)) !== undefined) await this.#load();
  }

  /** @param {string} folder */
  #ofFolder(folder) {
    return grouped(this.#entries).find((group) => group.folder === folder)?.entries ?? [];
  }

  /** @param {string} id */
  async #leave(id) {
    if (id !== app.windowId) return;
    const other = this.#entries.find((entry) => entry.id !== id);
    if (other) app.open(other.id);
    else await this.#begin("ordinary");
  }
}

/** @param {string} folder */
function folderView(folder) {
  const view = element("details", { className: "folder", open: !foldedFolders().includes(folder) }, element("summary", { textContent: folder }), element("div", { role: "list", "data-folder": folder }));
  view.ontoggle = () => {
    const others = foldedFolders().filter((one) => one !== folder);
    localStorage.setItem(FOLDED, JSON.stringify(view.open ? others : [...others, folder]));
  };
  return view;
}

/** @returns {string[]} */
const foldedFolders = () => JSON.parse(localStorage.getItem(FOLDED) ?? "[]");

/**
 * @param {string} textContent
 * @param {string} title
 * @param {() => void} onclick
 */
const beginner = (textContent, title, onclick) => element("button", { className: "item new-window", textContent, title, onclick });

customElements.define("halo-windows", Windows);
