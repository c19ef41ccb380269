// All settings, of the program or of this window only, in sections; the most used come first.

import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { Appearance } from "./appearance.js";
import { CaptureSwitch } from "./capture.js";
import { GROUPS, MOST_USED, TITLES, isAdvanced, isMeant, typedWords } from "./setting-groups.js";
import { settingSection } from "./setting-section.js";
import { ProgramStore, WindowStore, sectionOf } from "./setting-stores.js";

/** @typedef {"program" | "window"} Mode whose settings are shown */

/** Sections that are elements of their own.
 * @type {Record<string, (new () => Part) | undefined>}
 */
const ELEMENTS = { appearance: Appearance, capture: CaptureSwitch };

export class Settings extends Part {
  #program = new ProgramStore();
  #stores = { program: this.#program, window: new WindowStore(this.#program) };
  /** @type {Mode} */
  #mode = "program";
  #section = "most";
  #modes = element("div", { className: "switch", role: "group", "aria-label": "Settings of" });
  #find = element("input", { type: "search", className: "field", placeholder: "Find a setting", "aria-label": "Find a setting" });
  #nav = element("nav", { "aria-label": "Sections" });
  #fields = element("div", { className: "setting-fields" });

  start() {
    this.#section = this.getAttribute("at") || "most";
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

  /** @returns {[title: string, sections: string[]][]} */
  get #groups() {
    const present = new Set(this.#stores[this.#mode].settings.map(({ name }) => sectionOf(name)));
    const own = this.#mode === "program" ? ["most", "appearance", "capture"] : ["most", "capture"];
    const known = GROUPS.flatMap(([, sections]) => sections);
    /** @type {[string, string[]][]} */
    const groups = GROUPS.map(([title, sections]) => [title, sections.filter((name) => present.has(name) || own.includes(name))]);
    return [...groups, /** @type {[string, string[]]} */ (["Others", [...present].filter((name) => !known.includes(name))])].filter(([, sections]) => sections.length > 0);
  }

  #draw() {
    const groups = this.#groups;
    const sections = groups.flatMap(([, names]) => names);
    if (!sections.includes(this.#section)) [this.#section] = sections;
    this.#drawModes();
    const words = typedWords(this.#find.value);
    const links = groups.map(([title, names], number) => {
      const heading = element("h4", { id: `setting-group-${number}`, textContent: title });
      return element("div", { role: "group", "aria-labelledby": heading.id }, heading, ...names.map((name) => this.#link(name, !words.length && name === this.#section)));
    });
    this.#nav.replaceChildren(...links);
    const shown = words.length ? sections.filter((name) => name !== "most") : [this.#section];
    const views = shown.map((name) => (name === "most" ? this.#mostUsed() : this.#view(name, words))).filter((view) => view !== null);
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

  /** The ten that matter most, and the page's own settings. */
  #mostUsed() {
    const store = this.#stores[this.#mode];
    const settings = MOST_USED.map((wanted) => store.settings.find(({ name }) => name === wanted)).filter((one) => one !== undefined);
    const sections = [...new Set(settings.map(({ name }) => sectionOf(name)))];
    const views = sections.map((section) => settingSection(section, settings.filter(({ name }) => sectionOf(name) === section), store));
    const page = this.#mode === "program" ? [element("h3", { textContent: TITLES.appearance }), new Appearance()] : [];
    return element("section", {}, element("h3", { textContent: TITLES.most }), ...views, ...page);
  }

  /**
   * Null if nothing in the section is meant by the words.
   * @param {string} section
   * @param {string[]} words
   */
  #view(section, words) {
    const store = this.#stores[this.#mode];
    const settings = store.settings.filter(({ name, help }) => sectionOf(name) === section && isMeant(words, name, help));
    const title = element("h3", { textContent: TITLES[section] ?? section });
    const Own = ELEMENTS[section];
    if (Own) return isMeant(words, section) ? element("section", {}, title, new Own()) : null;
    if (!settings.length) return null;
    return element("section", {}, title, settingSection(section, settings, store, words.length ? undefined : isAdvanced));
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
