// The context as it was: what this page has seen of the window can be looked at again, in the weave view.

import { app } from "../shared/app.js";
import { element, plural } from "../shared/format.js";
import { Moments } from "./moments.js";

const LIMITS = { mostBytes: 64 * 1024 * 1024, mostOfWindow: 300 };

class Timeline extends HTMLElement {
  #seen = new Moments(LIMITS);
  #moments = []; // of the open window, the newest last
  #past = null; // the moment that is looked at, or null for now
  #slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "The context as it was" });
  #label = element("span", { className: "quiet" });

  connectedCallback() {
    this.append(this.#slider, this.#label);
    this.hidden = true;
    app.model.addEventListener("reset", () => this.#open());
    app.model.addEventListener("chunks", () => this.#note());
    app.addEventListener("view", () => (app.view === "weave" ? this.#show() : this.#look(null)));
    app.addEventListener("now", () => this.#look(null));
    this.#slider.oninput = () => this.#look(this.#moments[Number(this.#slider.value)]);
  }

  // A window that is shown again, or whose state came again, goes on with what was seen of it, from now.
  #open() {
    this.#moments = this.#seen.of(app.model.info.id);
    this.#note();
    this.#look(null);
  }

  #note() {
    const chunks = app.model.chunks.map((chunk) => ({ ...chunk, brightness: chunk.brightness.slice(), attention: undefined }));
    this.#seen.add(app.model.info.id, { time: new Date(), chunks });
    this.#show();
  }

  #look(moment) {
    const before = this.#past;
    this.#past = moment === this.#moments.at(-1) ? null : moment;
    if (this.#past !== before) app.dispatchEvent(new CustomEvent("past", { detail: this.#past }));
    this.#show();
  }

  #show() {
    this.hidden = app.view !== "weave" || this.#moments.length < 2;
    this.classList.toggle("looking", this.#past !== null);
    const last = this.#moments.length - 1;
    this.#slider.max = last; // before the value, which cannot be larger
    this.#slider.value = this.#past === null ? last : Math.max(0, this.#moments.indexOf(this.#past));
    this.#label.textContent = this.#past === null ? "now" : `${this.#past.time.toLocaleTimeString()} · ${plural(this.#past.chunks.length, "chunk")} lived`;
  }
}

customElements.define("halo-timeline", Timeline);
