// The context by cause: what takes up the model's capacity.

/** @import { Meter as Usage } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";

/** @type {[keyof Usage, string][]} */
const CAUSES = [
  ["system", "system"],
  ["notes", "notes"],
  ["pinned", "pinned"],
  ["living", "conversation"],
  ["returned", "returned"],
  ["current", "this turn"],
];

export class Meter extends Part {
  #bar = element("div", { className: "bar", role: "img" });
  #legend = element("p", { className: "causes" });

  start() {
    this.replaceChildren(this.#bar, this.#legend);
    this.follow(app.model, ["reset", "meta", "chunks"], () => this.#show());
  }

  #show() {
    const { info } = app.model;
    this.hidden = !info?.meter;
    if (!info?.meter) return;
    const { meter, budget } = info;
    const usable = info.usable || 1;
    const used = CAUSES.filter(([name]) => meter[name]);
    this.#bar.replaceChildren(...used.map(([name]) => bar(`part ${name}`, "width", meter[name] / usable)));
    this.#legend.replaceChildren(...used.map(([name, label]) => cause(name, label, meter[name])), cause("free", "free", Math.max(0, meter.free)));
    if (budget) {
      const mark = bar("budget", "left", budget / usable);
      mark.title = `Budget between turns: ${count(budget)} tokens`;
      this.#bar.append(mark);
    }
    this.#bar.setAttribute("aria-label", `${count(info.tokens)} of ${count(usable)} tokens are used.`);
  }
}

/**
 * @param {string} className
 * @param {"width" | "left"} side
 * @param {number} share
 */
function bar(className, side, share) {
  const part = element("span", { className });
  part.style.setProperty(side, `${100 * share}%`);
  return part;
}

/**
 * @param {string} name
 * @param {string} label
 * @param {number} tokens
 */
const cause = (name, label, tokens) => element("span", { className: `cause ${name}` }, `${label} `, element("b", { textContent: count(tokens) }));

customElements.define("halo-meter", Meter);
