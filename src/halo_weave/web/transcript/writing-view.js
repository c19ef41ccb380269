// The reply under way. In the read view only its last block is rendered again as it grows.

/** @import { Writing } from "../shared/window-model.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { names } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { makeUsable } from "./markdown-view.js";
import { lastBlockStart, rendered } from "./rendering.js";

const RENDER_EVERY = 150;

export class WritingView extends Part {
  #text = "";
  #node = document.createTextNode("");
  #done = 0; // characters whose blocks are rendered for good
  #isDue = false;
  #settled = element("div", { className: "rendered" });
  #last = element("div", { className: "rendered" });

  start() {
    this.#isDue = false;
    this.replaceChildren(
      element("header", {}, element("strong", { textContent: names().assistant }), element("span", { className: "quiet now" })),
      element("p", { className: "words" }, this.#node, element("span", { className: "cursor", "aria-hidden": "true" })),
      element("div", { className: "both" }, this.#settled, this.#last),
    );
    this.#schedule();
  }

  /**
   * The whole of it, or nothing if there is no reply under way.
   * @param {Writing | null} writing
   */
  show(writing) {
    const text = writing ? writing.pieces.join("") : "";
    const isShown = Boolean(writing) && !this.hidden && text === this.#text;
    this.toggleAttribute("hidden", !writing);
    if (!isShown) {
      this.#text = text;
      this.#node.data = text;
      this.#done = 0;
      this.#settled.replaceChildren();
      this.#last.replaceChildren();
    }
    this.#schedule();
  }

  /**
   * @param {string} text
   * @param {Writing | null} writing the whole of it
   */
  add(text, writing) {
    if (this.hidden || !writing) {
      this.show(writing);
      return;
    }
    this.#text += text;
    this.#node.appendData(text);
    this.#schedule();
  }

  #schedule() {
    if (app.view !== "read" || this.hidden || !this.#text || this.#isDue || !this.isConnected) return;
    this.#isDue = true;
    this.later(RENDER_EVERY, () => this.#render());
  }

  async #render() {
    const text = this.#text;
    const start = lastBlockStart(text);
    if (start > this.#done) await this.#settle(text, start);
    const html = await rendered(text.slice(this.#done));
    this.#isDue = false;
    if (this.#text.startsWith(text) && html !== null && !this.hidden) this.#last.innerHTML = html;
    if (this.#text !== text) this.#schedule();
  }

  /**
   * @param {string} text
   * @param {number} end of the blocks that will not change any more
   */
  async #settle(text, end) {
    const from = this.#done;
    const html = await rendered(text.slice(from, end));
    if (html === null || !this.#text.startsWith(text) || this.#done !== from) return;
    const part = element("div");
    part.innerHTML = html; // sanitised by the server
    makeUsable(part, this);
    this.#settled.append(part);
    this.#done = end;
  }
}

customElements.define("halo-writing", WritingView);
