// The right input for each kind of setting. An editor is {root, input, read, write}; `read` throws what is wrong, in words.

import { element } from "../shared/format.js";

const WIDEST_SLIDER = 100;

export function editorFor(setting) {
  if (setting.type === "true or false") return checkbox();
  if (setting.type === "choice") return choice(setting);
  if (setting.type === "list of texts") return list();
  if (/number/u.test(setting.type)) return number(setting);
  if (setting.is_secret) return secret();
  return setting.name.endsWith("prompt") ? longText() : text();
}

function checkbox() {
  const input = element("input", { type: "checkbox", className: "check" });
  return { root: input, input, read: () => input.checked, write: (value) => (input.checked = value) };
}

function choice({ choices }) {
  const input = element("select", { className: "field" }, ...choices.map((one) => new Option(one, one)));
  return { root: input, input, read: () => input.value, write: (value) => (input.value = value) };
}

function number({ type, allowed, minimum, maximum }) {
  const mayBeNone = type.endsWith("or none");
  const isWhole = type.startsWith("whole");
  const input = element("input", { type: "number", className: "field", step: isWhole ? "1" : "any", inputMode: isWhole ? "numeric" : "decimal" });
  if (minimum !== null) input.min = minimum;
  if (maximum !== null) input.max = maximum;
  if (mayBeNone) input.placeholder = "none";
  const read = () => {
    const isEmpty = input.value.trim() === "" && !input.validity.badInput;
    if (isEmpty && mayBeNone) return null;
    if (isEmpty || !input.validity.valid) throw new Error(`Must be ${allowed}.`);
    return Number(input.value);
  };
  const slider = minimum !== null && maximum !== null && maximum - minimum <= WIDEST_SLIDER && !isWhole ? sliderFor(input) : null;
  const write = (value) => {
    input.value = value ?? "";
    if (slider) slider.value = value;
  };
  const root = slider ? element("span", { className: "number" }, slider, input) : input;
  return { root, input, read, write };
}

// The number itself stays the field with the name; the slider is for the hand.
function sliderFor(input) {
  const slider = element("input", { type: "range", min: input.min, max: input.max, step: (input.max - input.min) / 100, tabIndex: -1, "aria-hidden": "true" });
  slider.oninput = () => (input.value = Number(Number(slider.value).toPrecision(3)));
  slider.onchange = () => input.dispatchEvent(new Event("change"));
  input.addEventListener("input", () => (slider.value = input.value));
  return slider;
}

function text() {
  const input = element("input", { className: "field", spellcheck: false, autocomplete: "off" });
  return { root: input, input, read: () => input.value, write: (value) => (input.value = value) };
}

function longText() {
  const input = element("textarea", { className: "field", rows: 4 });
  return { root: input, input, read: () => input.value, write: (value) => (input.value = value) };
}

// What is set is not shown; the server sends a word in its place.
function secret() {
  const input = element("input", { type: "password", className: "field", autocomplete: "off" });
  const write = (value) => {
    input.value = "";
    input.placeholder = value ? "set; type to replace it" : "not set";
  };
  return { root: input, input, read: () => input.value, write };
}

const ESCAPES = { "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const MEANINGS = { n: "\n", t: "\t", r: "\r", "\\": "\\" };
const escaped = (one) => one.replaceAll(/[\\\n\t\r]/gu, (sign) => ESCAPES[sign]);
const meant = (line) => line.replaceAll(/\\([ntr\\])/gu, (_, sign) => MEANINGS[sign]);

function list() {
  const input = element("textarea", { className: "field mono", rows: 3, placeholder: "one per line; \\n is a line break", spellcheck: false });
  const read = () => input.value.split("\n").filter(Boolean).map(meant);
  return { root: input, input, read, write: (value) => (input.value = value.map(escaped).join("\n")) };
}
