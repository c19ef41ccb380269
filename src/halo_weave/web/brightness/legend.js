// What the colours mean: their name, a histogram of the words in context, its numbers, and the chunks that leave next.

/** @import { HeatMode } from "./heat-map.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count, plural } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { MODES, UNSEEN } from "./heat-map.js";

/** @type {Record<HeatMode, { choice: string, title: string, ends: [string, string] | null, unseen: string }>} */
const TEXTS = {
  message: { choice: "newest message", title: "What the newest message looks at", ends: null, unseen: "in plain text: the newest exchange, and what is not read yet" },
  brightness: { choice: "brightness", title: "Brightness", ends: null, unseen: "new, without attention yet (plain text)" },
  attention: { choice: "last step", title: "What the last step looked at", ends: null, unseen: "without attention yet (plain text)" },
  keeping: { choice: "would be kept", title: "What would be kept", ends: ["leaves first", "stays longest"], unseen: "" },
  age: { choice: "age", title: "Age", ends: ["oldest", "newest"], unseen: "" },
};
const NOT_KNOWN = "What the newest message looks at is not known yet.";
const NO_READER = "What the newest message looks at is not known, because no model reads along (reader.kind).";
const REDRAWN_EVERY = 250;

export class Legend extends Part {
  #bars = Array.from({ length: UNSEEN + 1 }, (_, level) => element("span", { className: `bucket b${level}` }));
  #histogram = element("div", { className: "bars", role: "img", "aria-label": "Tokens from dim to bright" }, ...this.#bars);
  #numbers = element("p", { className: "numbers quiet" });
  #unseen = element("p", { className: "unseen-tokens quiet" });
  #next = element("p", { className: "next-buried" });
  #title = element("h2");
  #note = element("p", { className: "heat-note quiet" });
  #mode = element("select", { "aria-label": "Colour by" }, ...MODES.map((mode) => new Option(TEXTS[mode].choice, mode)));
  #linear = element("input", { type: "checkbox", id: "linear-scale" });
  #isDue = false;

  start() {
    this.#isDue = false;
    this.replaceChildren(
      this.#title,
      this.#note,
      this.#histogram,
      this.#numbers,
      this.#next,
      this.#unseen,
      element("p", { className: "choice" }, "Colour by ", this.#mode),
      element("p", { className: "choice" }, this.#linear, " ", element("label", { htmlFor: this.#linear.id, textContent: "linear scale" })),
    );
    this.#mode.selectedIndex = MODES.indexOf(app.heat.chosen);
    this.#mode.onchange = this.#linear.onchange = () => app.heat.setMode(MODES[this.#mode.selectedIndex], this.#linear.checked);
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
    const { scale, mode, chosen, isPast, hasReader } = app.heat;
    const { title, ends, unseen } = TEXTS[mode];
    this.#title.textContent = isPast ? `${title} then` : title;
    this.#note.textContent = isPast || mode === chosen ? "" : hasReader ? NOT_KNOWN : NO_READER;
    this.#linear.disabled = mode === "message"; // it always is
    const counts = app.heat.histogram();
    const most = Math.max(1, ...counts);
    const next = (mode === "brightness" && !scale.isEmpty && !isPast ? app.model.info?.next_to_bury : null) ?? null;
    counts.forEach((tokens, level) => {
      const bar = this.#bars[level];
      bar.style.setProperty("height", `${Math.max(4, (100 * tokens) / most)}%`);
      bar.title = level === UNSEEN ? `${plural(tokens, "token")} ${unseen}` : plural(tokens, "token");
      bar.classList.toggle("threshold", next !== null && level === scale.bucket(next));
    });
    this.#bars[UNSEEN].hidden = !counts[UNSEEN];
    this.#histogram.setAttribute("aria-label", `Tokens from dim to bright: ${counts.slice(0, UNSEEN).join(", ")}.`);
    const numbers = ends ?? [scale.lowest, scale.median, scale.highest].map((value) => inWords(value, mode));
    this.#numbers.replaceChildren(...(scale.isEmpty ? [] : numbers).map((text) => element("span", { textContent: text })));
    this.#unseen.textContent = counts[UNSEEN] && unseen ? `${plural(counts[UNSEEN], "token")} ${unseen}` : "";
    const leaves = app.model.info?.next_keys?.length && !isPast ? "dotted: next to be buried" : "";
    this.#next.textContent = next === null ? leaves : `next to be buried: ${count(next)}`;
  }
}

/**
 * Attention comes as square roots of shares of 65,535.
 * @param {number} value
 * @param {HeatMode} mode
 */
function inWords(value, mode) {
  if (mode === "attention" || mode === "message") return `${(100 * (value / 65535) ** 2).toPrecision(2)} %`;
  return count(Math.round(value));
}

customElements.define("halo-legend", Legend);
