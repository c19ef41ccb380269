// The context as it was: every change since the page was opened can be looked at again.

import { app } from "./app.js";
import { element, plural } from "./format.js";

const MOST_MOMENTS = 500;

class Timeline extends HTMLElement {
  #moments = [];
  #slider;
  #label;

  connectedCallback() {
    this.#slider = element("input", { type: "range", min: 0, value: 0, "aria-label": "The context as it was" });
    this.#label = element("span", { className: "quiet" });
    this.append(this.#slider, this.#label);
    this.hidden = true;
    app.model.addEventListener("reset", () => {
      this.#moments = [];
      this.#note("opened");
    });
    app.model.addEventListener("chunks", () => this.#note("changed"));
    app.addEventListener("view", () => this.#show());
    this.#slider.oninput = () => this.#look();
    this.#slider.onchange = () => this.#look();
  }

  #note() {
    const isNow = Number(this.#slider.value) >= this.#moments.length - 1;
    const chunks = app.model.chunks.map((chunk) => ({ ...chunk, brightness: chunk.brightness.slice(), buckets: chunk.buckets.slice() }));
    this.#moments.push({ time: new Date(), chunks });
    if (this.#moments.length > MOST_MOMENTS) this.#moments.shift();
    this.#slider.max = this.#moments.length - 1;
    if (isNow) this.#slider.value = this.#slider.max;
    this.#show();
  }

  #look() {
    const place = Number(this.#slider.value);
    const isNow = place >= this.#moments.length - 1;
    app.dispatchEvent(new CustomEvent("past", { detail: isNow ? null : this.#moments[place] }));
    this.#show();
  }

  #show() {
    this.hidden = app.view !== "weave" || this.#moments.length < 2;
    const place = Number(this.#slider.value);
    const moment = this.#moments[place];
    const isNow = place >= this.#moments.length - 1;
    this.#label.textContent = !moment || isNow ? "now" : `${moment.time.toLocaleTimeString()} · ${plural(moment.chunks.length, "chunk")} lived`;
  }
}

customElements.define("halo-timeline", Timeline);
