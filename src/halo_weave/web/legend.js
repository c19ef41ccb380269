// What the colours mean: a histogram of all living tokens, its numbers, and what will be buried next.

import { app } from "./app.js";
import { count, element } from "./format.js";

const MODES = [
  ["brightness", "brightness"],
  ["attention", "last attention"],
  ["age", "age"],
];

class Legend extends HTMLElement {
  #bars;
  #numbers;
  #next;
  #isDue = false;

  connectedCallback() {
    const transcript = document.getElementById("transcript");
    const mode = element("select", { "aria-label": "What the colours show" }, ...MODES.map(([value, text]) => element("option", { value, textContent: text })));
    mode.onchange = () => transcript.setMode(mode.value);
    const linear = element("input", { type: "checkbox", id: "linear-scale" });
    linear.onchange = () => transcript.setMode(mode.value, linear.checked);
    this.#bars = element("div", { className: "bars", role: "img" });
    this.#numbers = element("p", { className: "numbers quiet" });
    this.#next = element("p", { className: "next-buried" });
    this.append(
      element("h2", { textContent: "Brightness" }),
      this.#bars,
      this.#numbers,
      this.#next,
      element("p", { className: "choice" }, "Show ", mode),
      element("p", { className: "choice" }, linear, " ", element("label", { htmlFor: "linear-scale", textContent: "even scale" })),
    );
    transcript.addEventListener("scaled", () => this.#schedule(transcript));
  }

  #schedule(transcript) {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#show(transcript);
    }, 200);
  }

  #show(transcript) {
    const { scale } = transcript;
    const counts = scale.histogram(transcript.chunks.map((chunk) => transcript.values(chunk)));
    const most = Math.max(1, ...counts);
    this.#bars.replaceChildren(
      ...counts.map((tokens, bucket) => {
        const bar = element("span", { className: `bucket b${bucket}`, title: `${count(tokens)} tokens` });
        bar.style.setProperty("height", `${Math.max(4, (100 * tokens) / most)}%`);
        return bar;
      }),
    );
    this.#bars.setAttribute("aria-label", `Tokens from dim to bright: ${counts.join(", ")}.`);
    const middle = scale.edges[3];
    this.#numbers.replaceChildren(...[scale.lowest, middle, scale.highest].map((value) => element("span", { textContent: count(Math.round(value)) })));
    const next = app.model.info?.next_to_bury;
    this.#next.textContent = next === null || next === undefined ? "" : `next to be buried: ${count(next)}`;
  }
}

customElements.define("halo-legend", Legend);
