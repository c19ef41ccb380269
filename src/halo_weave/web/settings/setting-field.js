// One setting with its name, help, default, range, and the result of saving it.

/** @import { Setting, SettingValue } from "../shared/records.js" */
/** @import { SettingStore } from "./setting-stores.js" */
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { errorText } from "../shared/request.js";
import { editorFor } from "./setting-editors.js";

/** @type {Record<string, string>} */
const WORDS = { url: "URL", api: "API", gpu: "GPU", mb: "MB" };

export class SettingField {
  #setting;
  #store;
  #editor;
  #isDeferred;
  #note = element("p", { className: "setting-note", role: "status" });
  #origin = element("small", { className: "setting-origin" });
  #reset = element("button", { className: "link" });
  isChanged = false;

  /**
   * Deferred fields wait for a button, because part of a change would not work.
   * @param {Setting} setting
   * @param {SettingStore} store
   * @param {{ isDeferred: boolean }} options
   */
  constructor(setting, store, { isDeferred }) {
    this.#setting = setting;
    this.#store = store;
    this.#isDeferred = isDeferred;
    this.#editor = editorFor(setting);
    this.root = this.#build();
    this.show();
  }

  get name() {
    return this.#setting.name;
  }

  read() {
    return this.#editor.read();
  }

  show() {
    this.#editor.write(this.#store.value(this.name));
    this.isChanged = false;
    const isOwn = this.#store.isOwn(this.name);
    this.#reset.hidden = !isOwn;
    this.root.classList.toggle("own", isOwn);
    this.#origin.textContent = this.#store.origin(this.name);
  }

  /** @param {string} text */
  tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
    this.#editor.input.setAttribute("aria-invalid", String(isProblem));
  }

  #build() {
    const { name, help } = this.#setting;
    const id = `setting-${name}`;
    this.#editor.input.id = id;
    this.#editor.input.setAttribute("aria-describedby", `${id}-help`);
    this.#editor.input.onchange = () => this.#change();
    this.#reset.textContent = "Reset";
    this.#reset.setAttribute("aria-label", `Reset ${name}`);
    this.#reset.onclick = () => this.#attempt(() => this.#store.reset(name));
    const label = element("label", { htmlFor: id, textContent: inWords(name) }, element("code", { textContent: name }));
    const description = element("p", { className: "quiet", id: `${id}-help`, textContent: `${help} ${limits(this.#setting)}` });
    const root = element("div", { className: "setting" }, element("div", { className: "setting-head" }, label, this.#origin, this.#reset));
    if (this.#editor.input.type === "checkbox") root.append(element("div", { className: "checked" }, this.#editor.root, description));
    else root.append(this.#editor.root, description);
    root.append(this.#note);
    return root;
  }

  #change() {
    this.isChanged = true;
    // Beside the name, not below: nothing may move while the button is pressed.
    if (this.#isDeferred) this.#origin.textContent = "not applied yet";
    else this.#attempt(() => this.#store.save({ [this.name]: this.read() }));
  }

  /** @param {() => Promise<string>} action */
  async #attempt(action) {
    try {
      const text = await action();
      this.show();
      this.tell(text);
    } catch (error) {
      this.tell(errorText(error), true);
    }
  }
}

/**
 * "generation.max_tokens" is "Max tokens".
 * @param {string} name
 */
function inWords(name) {
  const words = name.split(".")[1].replace(/^is_/u, "").split("_").map((word) => WORDS[word] ?? word).join(" ");
  return words[0].toUpperCase() + words.slice(1);
}

/** @param {Setting} setting */
function limits({ type, allowed, default: byDefault }) {
  /** @type {string[]} */
  const parts = [];
  if (/number/u.test(type)) parts.push(grouped(allowed[0].toUpperCase() + allowed.slice(1)));
  if (type === "list of texts") parts.push("One per line, with \\n for a line break");
  parts.push(`${parts.length ? "default" : "Default"}: ${shown(byDefault)}.`);
  return parts.join("; ");
}

/** @param {string} text */
const grouped = (text) => text.replaceAll(/\d{5,}/gu, (digits) => count(digits));

/** @param {SettingValue} value */
function shown(value) {
  if (value === true) return "on";
  if (value === false) return "off";
  if (value === "") return "empty";
  if (typeof value === "number") return grouped(String(value));
  if (value === null || value.length === 0) return "none";
  return [value].flat().map((text) => `“${text.replace(/\.$/u, "")}”`).join(", ");
}
