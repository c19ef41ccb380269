// The context as it was: walks through the window's timeline, which the server stores. Only the weave view has a past.

/** @import { MomentRecord } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { summary } from "./changes.js";
import { momentOf } from "./past-chunks.js";

const PAGE = 200;
const MOST_NEW = 1000;
const REFRESHED_AFTER = 150;

export class Timeline extends Part {
  /** @type {MomentRecord[]} */
  #moments = []; // of the open window, the oldest first; the last one is the present
  #hasEarlier = false;
  #windowId = "";
  /** @type {number | null} */
  #at = null; // the moment to show, by its number; null for now
  #isPastShown = false;
  #isLoading = false;
  #isStale = false; // something changed while moments were loaded
  #slider = element("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Earlier context" });
  #label = element("span", { className: "quiet" });
  #earlier = element("button", { textContent: "‹", title: "One change back", "aria-label": "One change back" });
  #later = element("button", { textContent: "›", title: "One change forward", "aria-label": "One change forward" });

  start() {
    this.replaceChildren(this.#earlier, this.#slider, this.#later, this.#label);
    this.hidden = true;
    const refresh = this.settled(REFRESHED_AFTER, () => this.#refresh());
    this.follow(app, "window", () => this.#showNow());
    this.follow(app.model, "reset", () => {
      this.#showNow();
      refresh();
    });
    this.follow(app.model, ["chunks", "meta", "status"], refresh);
    this.follow(app, "view", (view) => {
      if (view === "weave") refresh();
      this.#showNow();
    });
    this.follow(app, "now", () => this.#showNow());
    this.follow(app, "names", () => this.#show());
    this.#slider.oninput = () => this.#look(Number(this.#slider.value));
    this.#earlier.onclick = () => this.#step(-1);
    this.#later.onclick = () => this.#step(1);
  }

  get #last() {
    return this.#moments.length - 1;
  }

  get #place() {
    const place = this.#moments.findIndex(({ number }) => number === this.#at);
    return place < 0 ? this.#last : place;
  }

  async #refresh() {
    this.#isStale = this.#isLoading;
    if (app.view !== "weave" || !app.model.info || this.#isLoading) return;
    const { id } = app.model.info;
    if (id !== this.#windowId) [this.#windowId, this.#moments, this.#hasEarlier] = [id, [], false];
    const newest = this.#moments.at(-1)?.number;
    const isFirst = newest === undefined;
    const found = await this.#load(isFirst ? { limit: PAGE } : { limit: MOST_NEW, after: newest });
    if (!found) return;
    const isWhole = isFirst || found.length === MOST_NEW; // else some between may be missing
    this.#moments = [...(isWhole ? [] : this.#moments), ...found.toReversed()];
    if (isWhole) this.#hasEarlier = found.length >= PAGE;
    this.#show();
  }

  async #loadEarlier() {
    if (!this.#hasEarlier || this.#isLoading) return;
    const found = await this.#load({ limit: PAGE, before: this.#moments[0]?.number });
    if (!found) return;
    this.#hasEarlier = found.length === PAGE;
    this.#moments = [...found.toReversed(), ...this.#moments];
    this.#show();
  }

  /**
   * Null if another window was opened meanwhile, or if the server did not answer.
   * @param {{ limit: number, before?: number, after?: number }} part
   */
  async #load(part) {
    const id = this.#windowId;
    this.#isLoading = true;
    const found = await app.api.timeline(part).catch(() => null);
    this.#isLoading = false;
    if (this.#isStale) this.nextFrame(() => this.#refresh());
    return id === app.windowId ? found : null;
  }

  /** @param {number} step */
  async #step(step) {
    if (step < 0 && this.#place === 0) await this.#loadEarlier();
    this.#look(Math.max(0, this.#place + step));
  }

  /** @param {number} place */
  async #look(place) {
    if (place >= this.#last) return this.#showNow();
    const { number } = this.#moments[place];
    this.#at = number;
    this.#show();
    if (place === 0) this.#loadEarlier();
    const { windowId } = app;
    const past = await attempt(() => app.api.contextAt(number));
    if (this.#at !== number || app.windowId !== windowId) return;
    if (past === undefined) return this.#showNow();
    this.#isPastShown = true;
    app.emit("past", momentOf(past));
  }

  #showNow() {
    this.#at = null;
    if (this.#isPastShown) app.emit("past", null);
    this.#isPastShown = false;
    this.#show();
  }

  #show() {
    const place = this.#place;
    this.hidden = app.view !== "weave" || this.#windowId !== app.windowId || this.#last < 1;
    this.classList.toggle("looking", this.#at !== null);
    this.#slider.max = String(Math.max(0, this.#last)); // before the value, which cannot be larger
    this.#slider.value = String(place);
    this.#later.disabled = this.#at === null;
    this.#earlier.disabled = place <= 0 && !this.#hasEarlier;
    const shown = this.#at === null ? null : this.#moments[place];
    this.#label.textContent = shown ? `${moment(shown.time)} · ${summary(shown.changes)}` : "now";
    this.#slider.setAttribute("aria-valuetext", this.#label.textContent);
  }
}

customElements.define("halo-timeline", Timeline);
