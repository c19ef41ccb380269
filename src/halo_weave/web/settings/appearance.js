// How the page looks, the names of the speakers, and single-letter keys; kept in this browser.

/** @import { Role } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { hasLetterKeys, setLetterKeys } from "../shared/letter-keys.js";
import { DEFAULT_NAMES, names, setName } from "../shared/names.js";
import { RAMPS, SIZES, WIDTHS, changePageStyle, pageStyle } from "../shared/page-style.js";
import { Part } from "../shared/part.js";
import { chooseTheme, themeChoice } from "../shared/theme.js";

const THEMES = [
  ["system", "Same as the system"],
  ["dark", "Dark"],
  ["light", "Light"],
];

/** @type {Record<string, string>} */
const WIDTH_NAMES = { narrow: "Narrow", normal: "Normal", wide: "Wide", full: "Whole width" };
/** @type {Record<string, string>} */
const RAMP_NAMES = { amber: "Amber", ocean: "Blue", rose: "Rose", grey: "Grey" };
const LETTER_KEYS = "G, M, N, W and P work outside text fields. Switch them off if you dictate or press them by accident. Shortcuts with Ctrl always work.";
const SAMPLE = ["From", "dim", "to", "bright:", "the", "colours", "of", "attention"];

export class Appearance extends Part {
  start() {
    const { width, ramp, isCompact } = pageStyle();
    this.replaceChildren(
      element("p", { className: "quiet", textContent: "These settings are kept in this browser." }),
      choices("Theme", "theme", THEMES, themeChoice(), chooseTheme),
      sizeField(),
      choices("Line width", "line-width", Object.keys(WIDTHS).map((name) => [name, WIDTH_NAMES[name]]), width, (name) => changePageStyle({ width: name })),
      ramps(ramp),
      checkField("compact", "Compact", isCompact, (isOn) => changePageStyle({ isCompact: isOn }), "Less space between messages, paragraphs and lines."),
      nameField("user", "Your name"),
      nameField("assistant", "The model's name"),
      checkField("letter-keys", "Single-letter keys", hasLetterKeys(), setLetterKeys, LETTER_KEYS),
    );
  }
}

/**
 * @param {string} legend
 * @param {string} name
 * @param {string[][]} options values with their texts
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
function choices(legend, name, options, chosen, choose) {
  const group = element("fieldset", { className: "setting choices" }, element("legend", { textContent: legend }));
  for (const [value, text] of options) {
    const radio = element("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) });
    group.append(element("label", {}, radio, text));
  }
  return group;
}

/** @param {string} chosen */
function ramps(chosen) {
  const group = choices("Colours of the heat", "ramp", RAMPS.map((name) => [name, RAMP_NAMES[name]]), chosen, (ramp) => {
    changePageStyle({ ramp });
    app.heat.emit("scaled"); // the minimap is painted by script
  });
  const sample = element("p", { className: "ramp-sample", "aria-hidden": "true" }, ...SAMPLE.map((word, level) => element("span", { className: `b${level}`, textContent: word })));
  group.append(sample);
  return group;
}

function sizeField() {
  const { size } = pageStyle();
  const shown = element("output", { textContent: `${size} px` });
  const input = element("input", { type: "range", id: "text-size", min: String(SIZES.least), max: String(SIZES.most), step: "1", value: String(size) });
  input.oninput = () => {
    changePageStyle({ size: Number(input.value) });
    shown.textContent = `${input.value} px`;
  };
  const head = element("div", { className: "setting-head" }, element("label", { htmlFor: input.id, textContent: "Text size" }));
  const help = element("p", { className: "quiet", textContent: "Of the conversation. The browser's zoom changes the size of everything." });
  return element("div", { className: "setting" }, head, element("div", { className: "number" }, input, shown), help);
}

/**
 * @param {Role} role
 * @param {string} label
 */
function nameField(role, label) {
  const own = names()[role];
  const input = element("input", { className: "field", id: `name-${role}`, maxLength: 60, placeholder: DEFAULT_NAMES[role], value: own === DEFAULT_NAMES[role] ? "" : own });
  input.onchange = () => setName(role, input.value);
  const help = element("p", { className: "quiet", textContent: `Shown in the conversation only; the model does not see it. Default: “${DEFAULT_NAMES[role]}”.` });
  return element("div", { className: "setting" }, element("div", { className: "setting-head" }, element("label", { htmlFor: input.id, textContent: label })), input, help);
}

/**
 * @param {string} id
 * @param {string} label
 * @param {boolean} isOn
 * @param {(isOn: boolean) => void} change
 * @param {string} help
 */
function checkField(id, label, isOn, change, help) {
  const box = element("input", { type: "checkbox", className: "check", id, checked: isOn });
  box.onchange = () => change(box.checked);
  const head = element("div", { className: "setting-head" }, element("label", { htmlFor: box.id, textContent: label }));
  return element("div", { className: "setting" }, head, element("div", { className: "checked" }, box, element("p", { className: "quiet", textContent: help })));
}

customElements.define("halo-appearance", Appearance);
