// What is special about the open window, over its conversation: that it is private, or that it does without recall.

import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { setRecall } from "./recall.js";
import { isPrivate } from "./window-kind.js";

const PRIVATE = "It reads the memory, but nothing you say here is saved: not on the disk, not in this browser. It is gone when you close it or the server ends.";
const WITHOUT_RECALL = "Earlier conversations do not return by themselves.";

export class WindowBar extends Part {
  start() {
    this.follow(app, "window", () => this.#show());
    this.follow(app.model, ["reset", "meta"], () => this.#show());
    this.#show();
  }

  #show() {
    const isSecret = isPrivate(app.windowId);
    const isWithout = app.model.info?.id === app.windowId && !app.model.info.recalls;
    this.hidden = !isSecret && !isWithout;
    document.body.classList.toggle("private", isSecret);
    this.replaceChildren();
    if (isSecret) this.append(line("private-note", "Private window", PRIVATE));
    if (isWithout) {
      const note = line("recall-note", "Without recall", WITHOUT_RECALL);
      note.append(element("button", { className: "outlined small", textContent: "Turn recall on", onclick: () => setRecall(true) }));
      this.append(note);
    }
  }
}

/**
 * @param {string} className
 * @param {string} title
 * @param {string} text
 */
const line = (className, title, text) => element("p", { className }, element("strong", { textContent: title }), ` ${text} `);

customElements.define("halo-window-bar", WindowBar);
