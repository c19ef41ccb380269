// How this page looks, how the speakers are called, and which keys it hears; kept in this browser.

import { element } from "../shared/format.js";
import { hasLetterKeys, setLetterKeys } from "../shared/letter-keys.js";
import { DEFAULT_NAMES, names, setName } from "../shared/names.js";
import { chooseTheme, themeChoice } from "../shared/theme.js";

const THEMES = [["system", "As the system"], ["dark", "Dark"], ["light", "Light"]];

class Appearance extends HTMLElement {
  connectedCallback() {
    this.replaceChildren(
      element("p", { className: "quiet", textContent: "These are kept in this browser." }),
      this.#theme(),
      nameField("user", "Your name"),
      nameField("assistant", "The model's name"),
      letterKeys(),
    );
  }

  #theme() {
    const group = element("fieldset", { className: "setting choices" }, element("legend", { textContent: "Theme" }));
    for (const [value, text] of THEMES) {
      const radio = element("input", { type: "radio", name: "theme", value, checked: value === themeChoice(), onchange: () => chooseTheme(value) });
      group.append(element("label", {}, radio, text));
    }
    return group;
  }
}

function nameField(role, label) {
  const own = names()[role];
  const input = element("input", { className: "field", id: `name-${role}`, maxLength: 60, placeholder: DEFAULT_NAMES[role], value: own === DEFAULT_NAMES[role] ? "" : own });
  input.onchange = () => setName(role, input.value);
  const help = element("p", { className: "quiet", textContent: `Shown in the conversation; by default “${DEFAULT_NAMES[role]}”. The model is not told.` });
  return element("div", { className: "setting" }, element("div", { className: "setting-head" }, element("label", { htmlFor: input.id, textContent: label })), input, help);
}

function letterKeys() {
  const box = element("input", { type: "checkbox", className: "check", id: "letter-keys", checked: hasLetterKeys() });
  box.onchange = () => setLetterKeys(box.checked);
  const help = element("p", { className: "quiet", textContent: "G, M, N, W and P work outside of text fields. Switch them off if you dictate, or if they get in your way; keys with Ctrl go on working." });
  const head = element("div", { className: "setting-head" }, element("label", { htmlFor: box.id, textContent: "Single-letter keys" }));
  return element("div", { className: "setting" }, head, element("div", { className: "checked" }, box, help));
}

customElements.define("halo-appearance", Appearance);
