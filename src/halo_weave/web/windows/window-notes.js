// The notes of the open window that are always in context, and the presets that it can choose.

/** @import { Overrides } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { Presets } from "./presets.js";

const NOTES = [
  { setting: "chat.character", label: "Character", help: "Who the model is to be." },
  { setting: "chat.persona", label: "Persona", help: "Who you are." },
  { setting: "chat.note", label: "Author's note", help: "What the model must not forget, such as a style or the state of a story." },
];

export class WindowNotes extends Part {
  #fields = NOTES.map(({ label }) => element("textarea", { className: "field", rows: 3, "aria-label": label }));
  #tokens = element("p", { className: "quiet" });
  #note = element("p", { className: "setting-note", role: "status" });

  start() {
    const fields = NOTES.map(({ label, help }, place) => element("label", { className: "window-note" }, element("strong", { textContent: label }), element("small", { textContent: help }), this.#fields[place]));
    const save = element("button", { className: "primary small", textContent: "Save the notes", onclick: () => this.#save() });
    this.replaceChildren(element("p", { className: "quiet", textContent: "The model reads these notes with every message of this window. They are never buried." }), ...fields, element("div", { className: "row" }, save, this.#tokens), this.#note, new Presets());
    this.follow(app.model, "meta", () => this.#count());
    this.#fill();
  }

  #fill() {
    const { overrides = {} } = app.model.info ?? {};
    NOTES.forEach(({ setting }, place) => (this.#fields[place].value = String(overrides[setting] ?? "")));
    this.#count();
  }

  #count() {
    this.#tokens.textContent = `${count(app.model.info?.meter.notes ?? 0)} tokens`;
  }

  async #save() {
    const { info } = app.model;
    if (!info) return;
    /** @type {Overrides} */
    const overrides = { ...info.overrides };
    NOTES.forEach(({ setting }, place) => {
      const text = this.#fields[place].value.trim();
      if (text) overrides[setting] = text;
      else delete overrides[setting];
    });
    try {
      await app.api.change({ overrides });
      this.#tell("Saved. The model reads them with the next message.");
    } catch (error) {
      this.#tell(errorText(error), true);
    }
  }

  /** @param {string} text */
  #tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
  }
}

customElements.define("halo-window-notes", WindowNotes);
