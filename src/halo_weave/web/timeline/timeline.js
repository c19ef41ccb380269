// The context as it was: earlier moments that this page has seen of the window, shown in the weave view.

/** @import { Moment } from "../shared/events.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { plural } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { Moments } from "./moments.js";

const LIMITS = { mostBytes: 64 * 1024 * 1024, mostOfWindow: 300 };

export class Timeline extends Part {
  #seen = new Moments(LIMITS);
  /** @type {Moment[]} */
  #moments = []; // of the open window, the newest last
  /** @type {Moment | null} */
  #past = null; // the moment that is shown, or null for now
  #slider = element("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Earlier context" });
  #label = element("span", { className: "quiet" });

  start() {
    this.replaceChildren(this.#slider, this.#label);
    this.hidden = true;
    this.follow(app.model, "reset", () => this.#open());
    this.follow(app.model, "chunks", () => this.#note());
    this.follow(app, "view", (view) => (view === "weave" ? this.#show() : this.#look(null)));
    this.follow(app, "now", () => this.#look(null));
    this.#slider.oninput = () => this.#look(this.#moments[Number(this.#slider.value)] ?? null);
  }

  // A window that is shown again, or whose state came again, continues with the moments it had.
  #open() {
    if (!app.model.info) return;
    this.#moments = this.#seen.of(app.model.info.id);
    this.#note();
    this.#look(null);
  }

  #note() {
    if (!app.model.info) return;
    const chunks = app.model.chunks.map((chunk) => ({ ...chunk, brightness: chunk.brightness.slice(), attention: undefined }));
    this.#seen.add(app.model.info.id, { time: new Date(), chunks });
    this.#show();
  }

  /** @param {Moment | null} moment */
  #look(moment) {
    const before = this.#past;
    this.#past = moment === this.#moments.at(-1) ? null : moment;
    if (this.#past !== before) app.emit("past", this.#past);
    this.#show();
  }

  #show() {
    this.hidden = app.view !== "weave" || this.#moments.length < 2;
    this.classList.toggle("looking", this.#past !== null);
    const last = this.#moments.length - 1;
    this.#slider.max = String(last); // before the value, which cannot be larger
    this.#slider.value = String(this.#past === null ? last : Math.max(0, this.#moments.indexOf(this.#past)));
    this.#label.textContent = this.#past === null ? "now" : `${this.#past.time.toLocaleTimeString()} · ${plural(this.#past.chunks.length, "chunk")} in context`;
  }
}

customElements.define("halo-timeline", Timeline);
