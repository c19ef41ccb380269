// What the colours mean: a histogram of all living tokens, its numbers, and what will be buried next.

import { app } from "../shared/app.js";
import { count, element, plural } from "../shared/format.js";
import { UNSEEN } from "./heat.js";

const MODES = [
  ["brightness", "brightness"],
  ["attention", "last attention"],
  ["age", "age"],
];
const REDRAWN_EVERY = 250;

class Legend extends HTMLElement {
  #bars = Array.from({ length: UNSEEN + 1 }, (_, level) => element("span", { className: `bucket b${level}` }));
  #histogram = element("div", { className: "bars", role: "img", "aria-label": "Tokens from dim to bright" }, ...this.#bars);
  #numbers = element("p", { className: "numbers quiet" });
  #unseen = element("p", { className: "unseen-tokens quiet" });
  #next = element("p", { className: "next-buried" });
  #isDue = false;

  connectedCallback() {
    const transcript = document.getElementById("transcript");
    const mode = element("select", { "aria-label": "What the colours show" }, ...MODES.map(([value, text]) => element("option", { value, textContent: text })));
    const linear = element("input", { type: "checkbox", id: "linear-scale" });
    mode.onchange = linear.onchange = () => transcript.setMode(mode.value, linear.checked);
    this.append(
      element("h2", { textContent: "Brightness" }),
      this.#histogram,
      this.#numbers,
      this.#next,
      this.#unseen,
      element("p", { className: "choice" }, "Show ", mode),
      element("p", { className: "choice" }, linear, " ", element("label", { htmlFor: "linear-scale", textContent: "even scale" })),
    );
    transcript.heat.addEventListener("scaled", () => this.#schedule(transcript.heat));
    app.addEventListener("view", () => this.#schedule(transcript.heat));
  }

  #schedule(heat) {
    if (this.#isDue || app.view !== "weave") return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#show(heat);
    }, REDRAWN_EVERY);
  }

  #show(heat) {
    const { scale, mode } = heat;
    const counts = heat.histogram();
    const most = Math.max(1, ...counts);
    const next = mode === "brightness" && !scale.isEmpty ? app.model.info?.next_to_bury : null;
    const isKnown = next !== null && next !== undefined;
    counts.forEach((tokens, level) => {
      const bar = this.#bars[level];
      bar.style.setProperty("height", `${Math.max(4, (100 * tokens) / most)}%`);
      bar.title = level === UNSEEN ? `${plural(tokens, "token")}, not looked at yet` : plural(tokens, "token");
      bar.classList.toggle("threshold", isKnown && level === scale.bucket(next));
    });
    this.#bars[UNSEEN].hidden = !counts[UNSEEN];
    this.#histogram.setAttribute("aria-label", `Tokens from dim to bright: ${counts.slice(0, UNSEEN).join(", ")}.`);
    const numbers = scale.isEmpty ? [] : [scale.lowest, scale.median, scale.highest];
    this.#numbers.replaceChildren(...numbers.map((value) => element("span", { textContent: inWords(value, mode) })));
    this.#unseen.textContent = counts[UNSEEN] ? `${plural(counts[UNSEEN], "token")} in plain text: new, not looked at yet` : "";
    const leaves = app.model.info?.next_keys?.length ? "dotted: next to be buried" : "";
    this.#next.textContent = isKnown ? `next to be buried: ${count(next)}` : leaves;
  }
}

// Attention comes as square roots of shares of 65,535; ages as a part of 10,000.
function inWords(value, mode) {
  if (mode === "attention") return `${(100 * (value / 65535) ** 2).toPrecision(2)} %`;
  return count(Math.round(value));
}

customElements.define("halo-legend", Legend);
