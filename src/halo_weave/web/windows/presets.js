// Presets for sampling and prompts: choose one for this window, save, import, delete.

/** @import { Overrides, Preset } from "../shared/records.js" */
import { presetsApi, programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { plural } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { isPrivate } from "./window-kind.js";

const SECTIONS = /^(generation|chat)\./u;

export class Presets extends Part {
  /** @type {Preset[]} */
  #presets = [];
  #choice = element("select", { className: "field", "aria-label": "Preset" });
  #name = element("input", { className: "field", maxLength: 200, placeholder: "Name", "aria-label": "Name of the new preset" });
  #file = element("input", { type: "file", accept: ".json,application/json", "aria-label": "SillyTavern preset to import" });
  #note = element("p", { className: "setting-note", role: "status" });

  start() {
    const save = element("form", { className: "row" }, this.#name, button("Save this window's settings", "submit"));
    save.hidden = isPrivate(app.windowId); // nothing of a private window is written
    save.onsubmit = (event) => {
      event.preventDefault();
      this.#attempt(() => this.#save());
    };
    const use = button("Use in this window");
    use.onclick = () => this.#attempt(() => this.#use());
    const drop = button("Delete");
    drop.onclick = () => this.#attempt(() => this.#delete());
    this.#file.onchange = () => this.#attempt(() => this.#import());
    this.replaceChildren(
      element("h3", { textContent: "Presets" }),
      element("p", { className: "quiet", textContent: "A preset has settings for sampling and prompts. It replaces those of this window." }),
      element("div", { className: "row" }, this.#choice, use, drop),
      save,
      element("label", {}, element("span", { className: "quiet", textContent: "Import a preset of SillyTavern " }), this.#file),
      this.#note,
    );
    this.#attempt(() => this.#load());
  }

  async #load(chosen = "") {
    this.#presets = await presetsApi.list();
    this.#choice.replaceChildren(...this.#presets.map(({ name }) => new Option(name, name)));
    if (chosen) this.#choice.value = chosen;
    return "";
  }

  async #use() {
    const preset = this.#presets.find(({ name }) => name === this.#choice.value);
    if (!preset || !app.model.info) return "There is no preset yet.";
    await app.api.change({ overrides: { ...app.model.info.overrides, ...preset.settings } });
    return `This window uses ${preset.name} from the next message on.`;
  }

  async #save() {
    const name = this.#name.value.trim();
    if (!name || !app.model.info) return "Name the preset first.";
    const program = (await programApi.settings()).filter((setting) => SECTIONS.test(setting.name));
    /** @type {Overrides} */
    const settings = Object.fromEntries(program.map((setting) => [setting.name, setting.value]));
    for (const [setting, value] of Object.entries(app.model.info.overrides)) if (SECTIONS.test(setting)) settings[setting] = value;
    await presetsApi.save(name, settings);
    await this.#load(name);
    return `${name} is saved.`;
  }

  async #import() {
    const file = this.#file.files?.[0];
    if (!file) return "";
    const { preset, ignored } = await presetsApi.import(file.name.replace(/\.json$/iu, ""), await file.text());
    this.#file.value = "";
    await this.#load(preset.name);
    const used = `${preset.name} is imported with ${plural(Object.keys(preset.settings).length, "setting")}.`;
    return ignored.length ? `${used} Ignored, because there is no such setting here: ${ignored.join(", ")}.` : used;
  }

  async #delete() {
    const name = this.#choice.value;
    if (!name) return "There is no preset yet.";
    await presetsApi.delete(name);
    await this.#load();
    return `${name} is deleted.`;
  }

  /** @param {() => Promise<string>} work that gives what to say */
  async #attempt(work) {
    try {
      this.#note.textContent = await work();
      this.#note.classList.remove("problem");
    } catch (error) {
      this.#note.textContent = errorText(error);
      this.#note.classList.add("problem");
    }
  }
}

/**
 * @param {string} textContent
 * @param {"button" | "submit"} type
 */
const button = (textContent, type = "button") => element("button", { className: "outlined small", textContent, type });

customElements.define("halo-presets", Presets);
