// The theme, the names of the speakers, and single-letter keys; kept in this browser.

/** @import { Role } from "../shared/records.js" */
import { element } from "../shared/element.js";
import { hasLetterKeys, setLetterKeys } from "../shared/letter-keys.js";
import { DEFAULT_NAMES, names, setName } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { chooseTheme, themeChoice } from "../shared/theme.js";

const THEMES = [
  ["system", "Same as the system"],
  ["dark", "Dark"],
  ["light", "Light"],
];

export class Appearance extends Part {
  start() {
    this.replaceChildren(
      element("p", { className: "quiet", textContent: "These settings are kept in this browser." }),
      themes(),
      nameField("user", "Your name"),
      nameField("assistant", "The model's name"),
      letterKeys(),
    );
  }
}

function themes() {
  const group = element("fieldset", { className: "setting choices" }, element("legend", { textContent: "Theme" }));
  for (const [value, text] of THEMES) {
    const radio = element("input", { type: "radio", name: "theme", value, checked: value === themeChoice(), onchange: () => chooseTheme(value) });
    group.append(element("label", {}, radio, text));
  }
  return group;
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

function letterKeys() {
  const box = element("input", { type: "checkbox", className: "check", id: "letter-keys", checked: hasLetterKeys() });
  box.onchange = () => setLetterKeys(box.checked);
  const help = element("p", { className: "quiet", textContent: "G, M, N, W and P work outside text fields. Switch them off if you dictate or press them by accident. Shortcuts with Ctrl always work." });
  const head = element("div", { className: "setting-head" }, element("label", { htmlFor: box.id, textContent: "Single-letter keys" }));
  return element("div", { className: "setting" }, head, element("div", { className: "checked" }, box, help));
}

customElements.define("halo-appearance", Appearance);
