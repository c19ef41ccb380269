// Copies the code that it stands beside.

import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";

const COPIED_MS = 1500;

export class CopyButton extends Part {
  start() {
    const button = element("button", { className: "copy", textContent: "Copy" });
    button.onclick = async () => {
      if (!(await copyText(this.parentElement?.querySelector("code")?.textContent ?? ""))) return;
      button.textContent = "Copied";
      this.later(COPIED_MS, () => (button.textContent = "Copy"));
    };
    this.replaceChildren(button);
  }
}

customElements.define("halo-copy", CopyButton);
