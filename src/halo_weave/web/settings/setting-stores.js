// Where settings are kept: the program's own, and those of one window alone. Both can `value`, `isOwn`, `save`, `reset`;
// `save` and `reset` give a sentence to show.

import { app } from "../shared/app.js";
import { get, put } from "../shared/api.js";

const WINDOW_SECTIONS = new Set(["chat", "generation", "weave", "brightness", "preview", "reflection", "tools"]);

export class ProgramStore {
  settings = [];

  async load() {
    this.settings = await get("/api/settings");
  }

  find(name) {
    return this.settings.find((setting) => setting.name === name);
  }

  value(name) {
    return this.find(name).value;
  }

  isOwn(name) {
    return this.find(name).source === "file";
  }

  // Where a value is from, if that is worth a word.
  origin(name) {
    const { source } = this.find(name);
    if (source === "environment" || source === "command line") return `set by the ${source}, which comes before what is saved here`;
    return "";
  }

  async save(changes) {
    const { restart = [], overridden = [] } = await put("/api/settings", changes);
    await this.load();
    const names = Object.keys(changes);
    if (names.some((name) => overridden.includes(name))) return "Saved, but the environment or the command line comes before it.";
    return names.some((name) => restart.includes(name)) ? "Saved; takes effect when the program is started again." : "Saved.";
  }

  reset(name) {
    return this.save({ [name]: null });
  }
}

export class WindowStore {
  #program;

  constructor(program) {
    this.#program = program;
  }

  get settings() {
    return this.#program.settings.filter(({ name }) => WINDOW_SECTIONS.has(sectionOf(name)));
  }

  get #overrides() {
    return app.model.info?.overrides ?? {};
  }

  value(name) {
    return this.isOwn(name) ? this.#overrides[name] : this.#program.value(name);
  }

  isOwn(name) {
    return Object.hasOwn(this.#overrides, name);
  }

  origin(name) {
    return this.isOwn(name) ? "for this window only" : "as in the program";
  }

  async save(changes) {
    await this.#put({ ...this.#overrides, ...changes });
    return "Saved for this window.";
  }

  async reset(name) {
    const { [name]: _, ...others } = this.#overrides;
    await this.#put(others);
    return "As in the program again.";
  }

  async #put(overrides) {
    const state = await app.api.change({ overrides });
    app.model.info.overrides = state?.overrides ?? overrides;
  }
}

export const sectionOf = (name) => name.split(".")[0];
