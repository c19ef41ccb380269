// What the colours mean: a histogram of all tokens in context, its numbers, and the chunks that leave next.

/** @import { HeatMode } from "./heat-map.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count, plural } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { UNSEEN } from "./heat-map.js";

/** @type {[HeatMode, string][]} */
const MODES = [
  ["brightness", "brightness"],
  ["attention", "latest attention"],
  ["age", "age"],
];
const REDRAWN_EVERY = 250;

export class Legend extends Part {
  #bars = Array.from({ length: UNSEEN + 1 }, (_, level) => element("span", { className: `bucket b${level}` }));
  #histogram = element("div", { className: "bars", role: "img", "aria-label": "Tokens from dim to bright" }, ...this.#bars);
  #numbers = element("p", { className: "numbers quiet" });
  #unseen = element("p", { className: "unseen-tokens quiet" });
  #next = element("p", { className: "next-buried" });
  #mode = element("select", { "aria-label": "Colour by" }, ...MODES.map(([value, text]) => new Option(text, value)));
  #linear = element("input", { type: "checkbox", id: "linear-scale" });
  #isDue = false;

  start() {
    this.#isDue = false;
    this.replaceChildren(
      element("h2", { textContent: "Brightness" }),
      this.#histogram,
      this.#numbers,
      this.#next,
      this.#unseen,
      element("p", { className: "choice" }, "Colour by ", this.#mode),
      element("p", { className: "choice" }, this.#linear, " ", element("label", { htmlFor: this.#linear.id, textContent: "linear scale" })),
    );
    this.#mode.onchange = this.#linear.onchange = () => app.heat.setMode(MODES[this.#mode.selectedIndex][0], this.#linear.checked);
    this.follow(app.heat, "scaled", () => this.#schedule());
    this.follow(app, "view", () => this.#schedule());
  }

  #schedule() {
    if (this.#isDue || app.view !== "weave") return;
    this.#isDue = true;
    this.later(REDRAWN_EVERY, () => {
      this.#isDue = false;
      this.#show();
    });
  }

  #show() {
    const { scale, mode } = app.heat;
    const counts = app.heat.histogram();
    const most = Math.max(1, ...counts);
    const next = (mode === "brightness" && !scale.isEmpty ? app.model.info?.next_to_bury : null) ?? null;
    counts.forEach((tokens, level) => {
      const bar = this.#bars[level];
      bar.style.setProperty("height", `${Math.max(4, (100 * tokens) / most)}%`);
      bar.title = level === UNSEEN ? `${plural(tokens, "token")}, no attention yet` : plural(tokens, "token");
      bar.classList.toggle("threshold", next !== null && level === scale.bucket(next));
    });
    this.#bars[UNSEEN].hidden = !counts[UNSEEN];
    this.#histogram.setAttribute("aria-label", `Tokens from dim to bright: ${counts.slice(0, UNSEEN).join(", ")}.`);
    const numbers = scale.isEmpty ? [] : [scale.lowest, scale.median, scale.highest];
    this.#numbers.replaceChildren(...numbers.map((value) => element("span", { textContent: inWords(value, mode) })));
    this.#unseen.textContent = counts[UNSEEN] ? `${plural(counts[UNSEEN], "new token")} without attention yet (plain text)` : "";
    const leaves = app.model.info?.next_keys?.length ? "dotted: next to be buried" : "";
    this.#next.textContent = next === null ? leaves : `next to be buried: ${count(next)}`;
  }
}

/**
 * Attention comes as square roots of shares of 65,535; ages as a part of 10,000.
 * @param {number} value
 * @param {HeatMode} mode
 */
function inWords(value, mode) {
  if (mode === "attention") return `${(100 * (value / 65535) ** 2).toPrecision(2)} %`;
  return count(Math.round(value));
}

customElements.define("halo-legend", Legend);
