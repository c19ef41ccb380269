// The right input for each kind of setting.

/** @import { Setting, SettingValue } from "../shared/records.js" */
import { element } from "../shared/element.js";

/**
 * `read` throws an error that says what is wrong.
 * @typedef {object} Editor
 * @property {HTMLElement} root
 * @property {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @property {() => SettingValue} read
 * @property {(value: SettingValue) => void} write
 */

const WIDEST_SLIDER = 100;

/**
 * @param {Setting} setting
 * @returns {Editor}
 */
export function editorFor(setting) {
  if (setting.type === "true or false") return checkbox();
  if (setting.type === "choice") return choice(setting);
  if (setting.type === "list of texts") return list();
  if (/number/u.test(setting.type)) return number(setting);
  if (setting.is_secret) return secret();
  return plain(setting.name.endsWith("prompt") ? element("textarea", { className: "field", rows: 4 }) : element("input", { className: "field", spellcheck: false, autocomplete: "off" }));
}

/** @returns {Editor} */
function checkbox() {
  const input = element("input", { type: "checkbox", className: "check" });
  return { root: input, input, read: () => input.checked, write: (value) => (input.checked = Boolean(value)) };
}

/** @param {Setting} setting */
const choice = ({ choices }) => plain(element("select", { className: "field" }, ...choices.map((one) => new Option(one, one))));

/**
 * @param {Editor["input"]} input
 * @returns {Editor}
 */
const plain = (input) => ({ root: input, input, read: () => input.value, write: (value) => (input.value = String(value ?? "")) });

/**
 * @param {Setting} setting
 * @returns {Editor}
 */
function number({ type, allowed, minimum, maximum }) {
  const mayBeNone = type.endsWith("or none");
  const isWhole = type.startsWith("whole");
  const input = element("input", { type: "number", className: "field", step: isWhole ? "1" : "any", inputMode: isWhole ? "numeric" : "decimal" });
  if (minimum !== null) input.min = String(minimum);
  if (maximum !== null) input.max = String(maximum);
  if (mayBeNone) input.placeholder = "none";
  const read = () => {
    const isEmpty = input.value.trim() === "" && !input.validity.badInput;
    if (isEmpty && mayBeNone) return null;
    if (isEmpty || !input.validity.valid) throw new Error(`Must be ${allowed}.`);
    return Number(input.value);
  };
  const hasSlider = minimum !== null && maximum !== null && maximum - minimum <= WIDEST_SLIDER && !isWhole;
  const slider = hasSlider ? sliderFor(input, (maximum - minimum) / 100) : null;
  /** @param {SettingValue} value */
  const write = (value) => {
    input.value = String(value ?? "");
    if (slider) slider.value = input.value;
  };
  const root = slider ? element("span", { className: "number" }, slider, input) : input;
  return { root, input, read, write };
}

/**
 * The number field stays the one with the name; the slider is for the hand.
 * @param {HTMLInputElement} input
 * @param {number} step
 */
function sliderFor(input, step) {
  const slider = element("input", { type: "range", min: input.min, max: input.max, step: String(step), tabIndex: -1, "aria-hidden": "true" });
  slider.oninput = () => (input.value = String(Number(Number(slider.value).toPrecision(3))));
  slider.onchange = () => input.dispatchEvent(new Event("change"));
  input.oninput = () => (slider.value = input.value);
  return slider;
}

/**
 * A secret is not shown; the server sends a word in its place.
 * @returns {Editor}
 */
function secret() {
  const input = element("input", { type: "password", className: "field", autocomplete: "off" });
  /** @param {SettingValue} value */
  const write = (value) => {
    input.value = "";
    input.placeholder = value ? "set; type to replace it" : "not set";
  };
  return { root: input, input, read: () => input.value, write };
}

const ESCAPES = new Map([["\\", "\\\\"], ["\n", "\\n"], ["\t", "\\t"], ["\r", "\\r"]]);
const MEANINGS = new Map([["n", "\n"], ["t", "\t"], ["r", "\r"], ["\\", "\\"]]);

/** @param {string} text */
const escaped = (text) => text.replaceAll(/[\\\n\t\r]/gu, (sign) => ESCAPES.get(sign) ?? sign);

/** @param {string} line */
const unescaped = (line) => line.replaceAll(/\\([ntr\\])/gu, (_, sign) => MEANINGS.get(sign) ?? sign);

/** @returns {Editor} */
function list() {
  const input = element("textarea", { className: "field mono", rows: 3, placeholder: "one per line; \\n is a line break", spellcheck: false });
  const read = () => input.value.split("\n").filter(Boolean).map(unescaped);
  return { root: input, input, read, write: (value) => (input.value = Array.isArray(value) ? value.map(escaped).join("\n") : "") };
}
