// Versions of the notes, the newest first: who made them, how, their text, and a way to restore them.

/** @import { NotesVersion } from "../shared/records.js" */
import { notesApi } from "../shared/api.js";
import { arrange } from "../shared/arrange.js";
import { element } from "../shared/element.js";
import { bytes, moment } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";

const PAGE = 30;

/** @typedef {{ root: HTMLElement, restore: HTMLButtonElement }} VersionView */

export class NotesHistory extends Part {
  /** @type {NotesVersion[]} */
  #entries = [];
  /** @type {Map<number, VersionView>} */
  #views = new Map(); // by version; a version never changes
  #version = 0;
  #isComplete = false;
  #list = element("ul", { className: "plain" });
  #more = element("button", { className: "outlined small", textContent: "Show more", hidden: true });
  #note = element("p", { className: "quiet", role: "status" });
  #details = element("details", { className: "notes-history" }, element("summary", { textContent: "History" }), this.#list, this.#note, this.#more);

  start() {
    this.replaceChildren(this.#details);
    this.#more.onclick = () => this.#fill();
    this.listen(this.#details, "toggle", () => this.#details.open && this.#begin());
  }

  /** @param {number} version the one that the notes have now */
  set version(version) {
    this.#version = version;
    if (this.#details.open) this.#begin();
  }

  #begin() {
    this.#entries = [];
    this.#isComplete = false;
    this.#fill();
  }

  async #fill() {
    const last = this.#entries.at(-1);
    try {
      const page = await notesApi.history(PAGE, last?.version);
      if (this.#entries.at(-1) !== last) return; // it was loaded again meanwhile
      this.#entries.push(...page);
      this.#isComplete = page.length < PAGE;
      this.#note.textContent = this.#entries.length ? "" : "There are no versions yet.";
    } catch (error) {
      this.#note.textContent = errorText(error);
    }
    this.#more.hidden = this.#isComplete;
    arrange(this.#list, this.#entries.map((entry) => this.#view(entry)));
  }

  /** @param {NotesVersion} entry */
  #view(entry) {
    const view = this.#views.get(entry.version) ?? this.#made(entry);
    this.#views.set(entry.version, view);
    view.restore.disabled = entry.version === this.#version;
    return view.root;
  }

  /**
   * @param {NotesVersion} entry
   * @returns {VersionView}
   */
  #made({ version, time, origin, command, bytes: size }) {
    const document = element("pre", { className: "mono notes-version", hidden: true, tabIndex: 0, role: "region", "aria-label": `Version ${version}` });
    const look = element("button", { className: "link", textContent: "Show", "aria-label": `Show version ${version}`, "aria-expanded": "false" });
    const restore = element("button", { className: "link restore", textContent: "Restore", "aria-label": `Restore version ${version}` });
    look.onclick = () => show(version, document, look);
    restore.onclick = () => this.send("restore-notes", version);
    const head = element("div", { className: "row" }, element("strong", { textContent: String(version) }), element("small", { textContent: `${moment(time)} · ${origin} · ${bytes(size)}` }), look, restore);
    return { root: element("li", {}, head, element("code", { className: "notes-command", textContent: command }), document), restore };
  }
}

/**
 * @param {number} version
 * @param {HTMLElement} place
 * @param {HTMLButtonElement} button
 */
async function show(version, place, button) {
  if (place.hidden && !place.textContent) place.textContent = await notesApi.version(version).then(({ document }) => document, errorText);
  place.hidden = !place.hidden;
  button.textContent = place.hidden ? "Show" : "Hide";
  button.setAttribute("aria-expanded", String(!place.hidden));
}

customElements.define("halo-notes-history", NotesHistory);
