// The reply under way. In the read view only its last block is rendered again as it grows.

import { app } from "../shared/app.js";
import { element } from "../shared/format.js";
import { names } from "../shared/names.js";
import { lastBlockStart, rendered } from "../shared/rendering.js";
import { makeUsable } from "./turn-view.js";

const RENDER_EVERY = 150;

export class WritingView extends HTMLElement {
  #text = "";
  #node = document.createTextNode("");
  #done = 0; // characters whose blocks are rendered for good
  #timer = null;
  #settled;
  #last;

  connectedCallback() {
    if (this.#settled) return;
    this.#settled = element("div", { className: "rendered" });
    this.#last = element("div", { className: "rendered" });
    this.append(
      element("header", {}, element("strong", { textContent: names().assistant }), element("span", { className: "quiet now" })),
      element("p", { className: "words" }, this.#node, element("span", { className: "cursor", "aria-hidden": "true" })),
      element("div", { className: "both" }, this.#settled, this.#last),
    );
  }

  // The whole of it, or nothing if there is no reply under way.
  show(writing) {
    const text = writing ? writing.pieces.join("") : "";
    const isShown = Boolean(writing) && !this.hidden && text === this.#text;
    this.hidden = !writing;
    if (isShown) return this.#schedule();
    this.#text = text;
    this.#node.data = this.#text;
    this.#done = 0;
    this.#settled?.replaceChildren();
    this.#last?.replaceChildren();
    this.#schedule();
  }

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
    if (app.view !== "read" || this.hidden || !this.#text || this.#timer) return;
    this.#timer = setTimeout(() => this.#render(), RENDER_EVERY);
  }

  async #render() {
    const text = this.#text;
    const start = lastBlockStart(text);
    if (start > this.#done) {
      const from = this.#done;
      const html = await rendered(text.slice(from, start));
      if (html !== null && this.#text.startsWith(text) && this.#done === from) {
        const part = element("div");
        part.innerHTML = html; // sanitised by the server
        makeUsable(part);
        this.#settled.append(part);
        this.#done = start;
      }
    }
    const html = await rendered(text.slice(this.#done));
    this.#timer = null;
    if (this.#text.startsWith(text) && html !== null && !this.hidden) this.#last.innerHTML = html;
    if (this.#text !== text) this.#schedule();
  }
}

customElements.define("halo-writing", WritingView);
