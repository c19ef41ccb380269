// Where settings are kept: those of the program, and those of one window.

/** @import { Overrides, Setting, SettingValue } from "../shared/records.js" */
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";

/**
 * `save` and `reset` give a sentence to show.
 * @typedef {object} SettingStore
 * @property {readonly Setting[]} settings
 * @property {(name: string) => SettingValue} value
 * @property {(name: string) => boolean} isOwn whether it was set here
 * @property {(name: string) => string} origin where the value comes from, if that is worth saying
 * @property {(changes: Record<string, SettingValue>) => Promise<string>} save
 * @property {(name: string) => Promise<string>} reset
 */

const WINDOW_SECTIONS = new Set(["chat", "generation", "weave", "brightness", "preview", "reflection", "tools"]);

/** @implements {SettingStore} */
export class ProgramStore {
  /** @type {Setting[]} */
  #settings = [];

  get settings() {
    return this.#settings;
  }

  async load() {
    this.#settings = await programApi.settings();
  }

  /** @param {string} name */
  value(name) {
    return this.#find(name)?.value ?? null;
  }

  /** @param {string} name */
  isOwn(name) {
    return this.#find(name)?.source === "file";
  }

  /** @param {string} name */
  origin(name) {
    const source = this.#find(name)?.source;
    if (source === "model") return `default of ${app.program.status?.engine.model || "this model"}`;
    return source === "environment" || source === "command line" ? `set by the ${source}, which overrides the value saved here` : "";
  }

  /** @param {Record<string, SettingValue>} changes */
  async save(changes) {
    const { restart = [], overridden = [] } = await programApi.changeSettings(changes);
    await this.load();
    const names = Object.keys(changes);
    if (names.some((name) => overridden.includes(name))) return "Saved, but the environment or the command line overrides it.";
    return names.some((name) => restart.includes(name)) ? "Saved. Restart the program to apply it." : "Saved.";
  }

  /** @param {string} name */
  reset(name) {
    return this.save({ [name]: null });
  }

  /** @param {string} name */
  #find(name) {
    return this.#settings.find((setting) => setting.name === name);
  }
}

/** @implements {SettingStore} */
export class WindowStore {
  #program;

  /** @param {ProgramStore} program whose settings hold where the window has none of its own */
  constructor(program) {
    this.#program = program;
  }

  get settings() {
    return this.#program.settings.filter(({ name }) => WINDOW_SECTIONS.has(sectionOf(name)));
  }

  /** @returns {Overrides} */
  get #overrides() {
    return app.model.info?.overrides ?? {};
  }

  /** @param {string} name */
  value(name) {
    return this.isOwn(name) ? this.#overrides[name] : this.#program.value(name);
  }

  /** @param {string} name */
  isOwn(name) {
    return Object.hasOwn(this.#overrides, name);
  }

  /** @param {string} name */
  origin(name) {
    return this.isOwn(name) ? "for this window only" : "same as the program";
  }

  /** @param {Record<string, SettingValue>} changes */
  async save(changes) {
    await this.#put({ ...this.#overrides, ...changes });
    return "Saved for this window.";
  }

  /** @param {string} name */
  async reset(name) {
    const { [name]: _, ...others } = this.#overrides;
    await this.#put(others);
    return "Reset to the program's value.";
  }

  /** @param {Overrides} overrides */
  async #put(overrides) {
    const state = await app.api.change({ overrides });
    app.model.setOverrides(state?.overrides ?? overrides);
  }
}

/** @param {string} name */
export const sectionOf = (name) => name.split(".")[0];
