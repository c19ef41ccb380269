// The head of a block of code: its language, and a button that copies it.

import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";

const COPIED_MS = 1500;

export class CodeHead extends Part {
  start() {
    const button = element("button", { className: "copy", textContent: "Copy" });
    button.onclick = async () => {
      if (!(await copyText(this.parentElement?.querySelector("code")?.textContent ?? ""))) return;
      button.textContent = "Copied";
      this.later(COPIED_MS, () => (button.textContent = "Copy"));
    };
    const language = this.parentElement?.dataset.language ?? "";
    this.replaceChildren(element("span", { className: "language", textContent: language }), button);
  }
}

customElements.define("halo-code-head", CodeHead);
