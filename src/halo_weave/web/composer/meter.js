// The context by cause: what takes up the model's room.

import { app } from "../shared/app.js";
import { count, element } from "../shared/format.js";

const CAUSES = [
  ["system", "system"],
  ["pinned", "pinned"],
  ["living", "living"],
  ["returned", "returned"],
  ["current", "this turn"],
];

class Meter extends HTMLElement {
  #bar;
  #legend;

  connectedCallback() {
    this.#bar = element("div", { className: "bar", role: "img" });
    this.#legend = element("p", { className: "causes" });
    this.append(this.#bar, this.#legend);
    for (const type of ["reset", "meta", "chunks"]) app.model.addEventListener(type, () => this.#show());
  }

  #show() {
    const { info } = app.model;
    const meter = info?.meter;
    this.hidden = !meter;
    if (!meter) return;
    const usable = info.usable || 1;
    this.#bar.replaceChildren();
    this.#legend.replaceChildren();
    for (const [name, label] of CAUSES) {
      if (!meter[name]) continue;
      const part = element("span", { className: `part ${name}` });
      part.style.setProperty("width", `${(100 * meter[name]) / usable}%`);
      this.#bar.append(part);
      this.#legend.append(element("span", { className: `cause ${name}` }, `${label} `, element("b", { textContent: count(meter[name]) })));
    }
    if (info.budget) {
      const mark = element("span", { className: "budget", title: `Budget between turns: ${count(info.budget)} tokens` });
      mark.style.setProperty("left", `${(100 * info.budget) / usable}%`);
      this.#bar.append(mark);
    }
    this.#legend.append(element("span", { className: "cause free" }, "free ", element("b", { textContent: count(Math.max(0, meter.free)) })));
    this.#bar.setAttribute("aria-label", `${count(info.tokens)} of ${count(usable)} tokens are used.`);
  }
}

customElements.define("halo-meter", Meter);
