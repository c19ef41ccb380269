// All settings, of the program or of this window only, in sections.

import { app } from "../shared/app.js";
import { element } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { settingSection } from "./setting-section.js";
import { ProgramStore, WindowStore, sectionOf } from "./setting-stores.js";
import "./appearance.js";
import "./capture.js";

const TITLES = {
  appearance: "Page and names",
  chat: "System prompt",
  generation: "Generation",
  weave: "Budget and return",
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

class Settings extends Part {
  #program = new ProgramStore();
  #stores = { program: this.#program, window: new WindowStore(this.#program) };
  #mode = "program";
  #section = "appearance";
  #modes = element("div", { className: "switch", role: "group", "aria-label": "Which settings" });
  #find = element("input", { type: "search", className: "field", placeholder: "Find a setting", "aria-label": "Find a setting" });
  #nav = element("nav", { "aria-label": "Sections of the settings" });
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
      this.#fields.replaceChildren(element("p", { className: "problem", textContent: error.message }));
      return;
    }
    this.#draw();
  }

  get #sections() {
    const present = [...new Set(this.#stores[this.#mode].settings.map(({ name }) => sectionOf(name)))];
    const own = this.#mode === "program" ? ["appearance", ...present, "capture"] : [...present, "capture"];
    const places = Object.keys(TITLES);
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
    const views = shown.map((name) => this.#view(name, words)).filter(Boolean);
    this.#fields.replaceChildren(...(views.length ? views : [element("p", { className: "quiet", textContent: "No setting is called like this." })]));
  }

  #drawModes() {
    const windowName = app.model.info?.name;
    const mode = (name, textContent) => {
      const button = element("button", { textContent, "aria-pressed": String(name === this.#mode) });
      button.onclick = () => {
        this.#mode = name;
        this.#draw();
        this.#modes.querySelector('[aria-pressed="true"]').focus();
      };
      return button;
    };
    this.#modes.replaceChildren(mode("program", "Program"), ...(windowName ? [mode("window", "This window only")] : []));
    this.#modes.title = windowName ? `This window is ${windowName}.` : "";
  }

  #link(name, isCurrent) {
    const button = element("button", { className: "item", textContent: TITLES[name] ?? name });
    if (isCurrent) button.setAttribute("aria-current", "true");
    button.onclick = () => {
      this.#section = name;
      this.#find.value = "";
      this.#draw();
      this.#fields.scrollTop = 0;
      this.#nav.querySelector('[aria-current="true"]').focus();
    };
    return button;
  }

  // Null if nothing in the section fits the words.
  #view(section, words) {
    const fits = ({ name, help }) => !words || `${name} ${help}`.toLowerCase().replaceAll("_", " ").includes(words.replaceAll("_", " "));
    const store = this.#stores[this.#mode];
    const settings = store.settings.filter((setting) => sectionOf(setting.name) === section && fits(setting));
    const isOwnElement = section === "appearance" || section === "capture";
    if (isOwnElement ? words && !TITLES[section].toLowerCase().includes(words) : !settings.length) return null;
    const content = isOwnElement ? element(`halo-${section}`) : settingSection(section, settings, store);
    return element("section", {}, element("h3", { textContent: TITLES[section] ?? section }), content);
  }
}

customElements.define("halo-settings", Settings);
