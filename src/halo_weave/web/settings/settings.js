// All settings, of the program or of this window only, in sections.

/** @import { Setting } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { Appearance } from "./appearance.js";
import { CaptureSwitch } from "./capture.js";
import { settingSection } from "./setting-section.js";
import { ProgramStore, WindowStore, sectionOf } from "./setting-stores.js";

/** @typedef {"program" | "window"} Mode whose settings are shown */

/** @type {Record<string, string>} */
const TITLES = {
  appearance: "Page and names",
  chat: "System prompt",
  generation: "Generation",
  weave: "Budget and resurrection",
  brightness: "Brightness",
  preview: "Preview",
  reflection: "Reflection",
  tools: "Tools",
  engine: "Model",
  memory: "Memory and chunks",
  search: "Search",
  embedder: "Embedding",
  capture: "Capture",
};

/** Sections that are elements of their own.
 * @type {Record<string, (new () => Part) | undefined>}
 */
const ELEMENTS = { appearance: Appearance, capture: CaptureSwitch };

export class Settings extends Part {
  #program = new ProgramStore();
  #stores = { program: this.#program, window: new WindowStore(this.#program) };
  /** @type {Mode} */
  #mode = "program";
  #section = "appearance";
  #modes = element("div", { className: "switch", role: "group", "aria-label": "Settings of" });
  #find = element("input", { type: "search", className: "field", placeholder: "Find a setting", "aria-label": "Find a setting" });
  #nav = element("nav", { "aria-label": "Sections" });
  #fields = element("div", { className: "setting-fields" });

  start() {
    this.#section = this.getAttribute("at") || "appearance";
    this.#find.oninput = () => this.#draw();
    this.replaceChildren(element("div", { className: "setting-bar" }, this.#modes, this.#find), element("div", { className: "setting-columns" }, this.#nav, this.#fields));
    this.#load();
  }

  async #load() {
    try {
      await this.#program.load();
    } catch (error) {
      this.#fields.replaceChildren(element("p", { className: "problem", textContent: errorText(error) }));
      return;
    }
    this.#draw();
  }

  get #sections() {
    const present = [...new Set(this.#stores[this.#mode].settings.map(({ name }) => sectionOf(name)))];
    const own = this.#mode === "program" ? ["appearance", ...present, "capture"] : [...present, "capture"];
    const places = Object.keys(TITLES);
    /** @param {string} name */
    const place = (name) => (places.includes(name) ? places.indexOf(name) : places.length);
    return own.sort((a, b) => place(a) - place(b));
  }

  #draw() {
    const sections = this.#sections;
    if (!sections.includes(this.#section)) [this.#section] = sections;
    this.#drawModes();
    const words = this.#find.value.trim().toLowerCase();
    const links = sections.map((name) => this.#link(name, !words && name === this.#section));
    this.#nav.replaceChildren(...links);
    const shown = words ? sections : [this.#section];
    const views = shown.map((name) => this.#view(name, words)).filter((view) => view !== null);
    this.#fields.replaceChildren(...(views.length ? views : [element("p", { className: "quiet", textContent: "No setting found." })]));
  }

  #drawModes() {
    const windowName = app.model.info?.name;
    /**
     * @param {Mode} name
     * @param {string} textContent
     */
    const mode = (name, textContent) => {
      const button = element("button", { textContent, "aria-pressed": String(name === this.#mode) });
      button.onclick = () => {
        this.#mode = name;
        this.#draw();
        focusOn(this.#modes, '[aria-pressed="true"]');
      };
      return button;
    };
    this.#modes.replaceChildren(mode("program", "Program"), ...(windowName ? [mode("window", "This window only")] : []));
    this.#modes.title = windowName ? `This window: ${windowName}` : "";
  }

  /**
   * @param {string} name
   * @param {boolean} isCurrent
   */
  #link(name, isCurrent) {
    const button = element("button", { className: "item", textContent: TITLES[name] ?? name });
    if (isCurrent) button.setAttribute("aria-current", "true");
    button.onclick = () => {
      this.#section = name;
      this.#find.value = "";
      this.#draw();
      this.#fields.scrollTop = 0;
      focusOn(this.#nav, '[aria-current="true"]');
    };
    return button;
  }

  /**
   * Null if nothing in the section matches.
   * @param {string} section
   * @param {string} words
   */
  #view(section, words) {
    /** @param {Setting} setting */
    const matches = ({ name, help }) => !words || `${name} ${help}`.toLowerCase().replaceAll("_", " ").includes(words.replaceAll("_", " "));
    const store = this.#stores[this.#mode];
    const settings = store.settings.filter((setting) => sectionOf(setting.name) === section && matches(setting));
    const title = TITLES[section] ?? section;
    const Own = ELEMENTS[section];
    if (Own ? words && !title.toLowerCase().includes(words) : !settings.length) return null;
    return element("section", {}, element("h3", { textContent: title }), Own ? new Own() : settingSection(section, settings, store));
  }
}

/**
 * @param {Element} root
 * @param {string} selector
 */
function focusOn(root, selector) {
  const found = root.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
}

customElements.define("halo-settings", Settings);
