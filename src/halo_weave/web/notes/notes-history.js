// Versions of the notes, the newest first: who made them, how, what they were, and the way back.

import { get } from "../shared/api.js";
import { bytes, element, moment } from "../shared/format.js";
import { Part, arrange } from "../shared/part.js";

const PAGE = 30;

class NotesHistory extends Part {
  #entries = [];
  #views = new Map(); // by version, which never change
  #version = 0;
  #isComplete = false;
  #list = element("ul", { className: "plain" });
  #more = element("button", { className: "outlined small", textContent: "Show more", hidden: true });
  #note = element("p", { className: "quiet", role: "status" });
  #details = element("details", { className: "notes-history" }, element("summary", { textContent: "History" }), this.#list, this.#note, this.#more);

  start() {
    this.replaceChildren(this.#details);
    this.#more.onclick = () => this.#fill();
    this.follow(this.#details, "toggle", () => this.#details.open && this.#begin());
  }

  // The one that the notes have now.
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
      const page = await get(`/api/notes/history?limit=${PAGE}${last ? `&before=${last.version}` : ""}`);
      if (this.#entries.at(-1) !== last) return; // began anew meanwhile
      this.#entries.push(...page);
      this.#isComplete = page.length < PAGE;
      this.#note.textContent = this.#entries.length ? "" : "There are no versions yet.";
    } catch (error) {
      this.#note.textContent = error.message;
    }
    this.#more.hidden = this.#isComplete;
    arrange(this.#list, this.#entries.map((entry) => this.#view(entry)));
  }

  #view(entry) {
    if (!this.#views.has(entry.version)) this.#views.set(entry.version, this.#made(entry));
    const view = this.#views.get(entry.version);
    view.querySelector(".restore").disabled = entry.version === this.#version;
    return view;
  }

  #made({ version, time, origin, command, bytes: size }) {
    const document = element("pre", { className: "mono notes-version", hidden: true, tabIndex: 0, role: "region", "aria-label": `Version ${version}` });
    const look = element("button", { className: "link", textContent: "Show", "aria-label": `Show version ${version}`, "aria-expanded": "false" });
    const restore = element("button", { className: "link restore", textContent: "Restore", "aria-label": `Restore version ${version}` });
    look.onclick = () => show(version, document, look);
    restore.onclick = () => this.dispatchEvent(new CustomEvent("restore-notes", { detail: version, bubbles: true }));
    const head = element("div", { className: "row" }, element("strong", { textContent: String(version) }), element("small", { textContent: `${moment(time)} · ${origin} · ${bytes(size)}` }), look, restore);
    return element("li", {}, head, element("code", { className: "notes-command", textContent: command }), document);
  }
}

async function show(version, place, button) {
  if (place.hidden && !place.textContent) {
    place.textContent = await get(`/api/notes/versions/${version}`).then(
      ({ document }) => document,
      (error) => error.message,
    );
  }
  place.hidden = !place.hidden;
  button.textContent = place.hidden ? "Show" : "Hide";
  button.setAttribute("aria-expanded", String(!place.hidden));
}

customElements.define("halo-notes-history", NotesHistory);
