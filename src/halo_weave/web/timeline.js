// The context as it was: every change that this page has seen can be looked at again.

import { app } from "./app.js";
import { element, plural } from "./format.js";

const MOST_MOMENTS = 300; // of one window

class Timeline extends HTMLElement {
  #moments = [];
  #ofWindows = new Map();
  #slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "The context as it was" });
  #label = element("span", { className: "quiet" });

  connectedCallback() {
    this.append(this.#slider, this.#label);
    this.hidden = true;
    app.model.addEventListener("reset", () => this.#open(app.model.info.id));
    app.model.addEventListener("chunks", () => this.#note());
    app.addEventListener("view", () => this.#show());
    this.#slider.oninput = () => this.#look();
  }

  get #isNow() {
    return Number(this.#slider.value) >= this.#moments.length - 1;
  }

  // A window that is shown again, or whose state came anew, goes on with what was seen of it.
  #open(id) {
    const wasNow = this.#isNow;
    this.#moments = this.#ofWindows.get(id) ?? [];
    this.#ofWindows.set(id, this.#moments);
    this.#slider.max = this.#slider.value = this.#moments.length;
    this.#note();
    if (!wasNow) this.#look();
  }

  #note() {
    const isNow = this.#isNow;
    const chunks = app.model.chunks.map((chunk) => ({ ...chunk, brightness: chunk.brightness.slice(), attention: undefined }));
    this.#moments.push({ time: new Date(), chunks });
    if (this.#moments.length > MOST_MOMENTS) this.#moments.shift();
    this.#slider.max = this.#moments.length - 1;
    if (isNow) this.#slider.value = this.#slider.max;
    this.#show();
  }

  #look() {
    app.dispatchEvent(new CustomEvent("past", { detail: this.#isNow ? null : this.#moments[Number(this.#slider.value)] }));
    this.#show();
  }

  #show() {
    this.hidden = app.view !== "weave" || this.#moments.length < 2;
    this.classList.toggle("looking", !this.#isNow);
    const { time, chunks } = this.#moments[Number(this.#slider.value)] ?? {};
    this.#label.textContent = this.#isNow ? "now" : `${time.toLocaleTimeString()} · ${plural(chunks.length, "chunk")} lived`;
  }
}

customElements.define("halo-timeline", Timeline);
