// The numbers of this window and of the memory.

/** @import { MemoryStatus, TurnFigures, WindowInfo } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { bytes, count, plural, seconds } from "../shared/format.js";
import { Part } from "../shared/part.js";

/** @typedef {[name: string, value: string, help: string]} Figure */

const UNKNOWN = "–";

export class Figures extends Part {
  start() {
    this.follow(app.model, ["reset", "meta", "chunks", "brightness"], () => this.#draw());
    this.follow(app.program, "status", () => this.#draw());
    app.refreshStatus();
    this.#draw();
  }

  #draw() {
    const { info } = app.model;
    const memory = app.program.status?.memory;
    const groups = [
      ...(info ? [group("This window", ofWindow(info)), group("Last turn", ofTurn(info.stats ?? {}))] : []),
      ...(memory ? [group("Memory", ofMemory(memory))] : []),
    ];
    this.replaceChildren(...(groups.length ? groups : [element("p", { className: "quiet", textContent: "No figures yet: the model is still loading." })]));
  }
}

/**
 * @param {WindowInfo} info
 * @returns {Figure[]}
 */
function ofWindow(info) {
  return [
    ["Tokens in context", `${count(info.tokens)} of ${count(info.budget)}`, `The second number is the budget. The model can take ${count(info.usable)}.`],
    ["Brightness", brightnessRange(), "The dimmest and the brightest token in context."],
    ["Next to be buried", nextToBury(info), "Dotted in the weave view. A number is the peak brightness, if brightness alone decides."],
    ["Buried", plural(info.buried, "chunk"), "Left the context of this window; see the graveyard."],
    ["Messages", count(info.messages), "Sent in this window."],
  ];
}

/** @param {WindowInfo} info */
function nextToBury({ next_to_bury: peak, next_keys: keys }) {
  if (!keys?.length) return UNKNOWN;
  return peak === null ? plural(keys.length, "chunk") : count(peak);
}

/**
 * @param {TurnFigures} stats
 * @returns {Figure[]}
 */
function ofTurn(stats) {
  const { generated = 0, reply_s: reply = 0, first_token_s: first = 0 } = stats;
  const speed = generated > 1 && reply > first ? (generated - 1) / (reply - first) : null;
  return [
    ["Tokens processed", known(stats.decoded, count), "For the last reply; the rest was still in the model's cache."],
    ["Tokens written", known(stats.generated, count), "In the last reply."],
    ["Resurrected", known(stats.resurrected, count), "Tokens that returned from the memory."],
    ["First token", known(stats.first_token_s, seconds), "Time from sending to the first token."],
    ["Speed", speed === null ? UNKNOWN : `${speed.toFixed(1)} tokens/s`, "After the first token."],
    ["Malformed attention", known(stats.malformed, count), "Steps with unusable attention. Please report any number above 0."],
  ];
}

/**
 * @param {MemoryStatus} memory
 * @returns {Figure[]}
 */
function ofMemory(memory) {
  return [
    ["Chunks", count(memory.chunks), `Including ${count(memory.deleted)} deleted, which can be restored.`],
    ["Tokens", count(memory.tokens), "All messages of all windows, word for word."],
    ["On disk", bytes(memory.bytes), "Size of the database."],
    ["Without a vector", count(memory.missing_vectors), `Search by meaning with ${memory.embedder} does not find these yet.`],
  ];
}

/**
 * @param {number | undefined} value
 * @param {(value: number) => string} shown
 */
const known = (value, shown) => (value === undefined || value === null ? UNKNOWN : shown(value));

function brightnessRange() {
  let [lowest, highest] = [Infinity, -Infinity];
  for (const { brightness } of app.model.chunks) {
    for (const value of brightness) {
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
    }
  }
  return lowest === Infinity ? UNKNOWN : `${count(lowest)} – ${count(highest)}`;
}

/**
 * @param {string} title
 * @param {Figure[]} rows
 */
function group(title, rows) {
  const list = element("dl", { className: "figures" });
  for (const [name, value, help] of rows) {
    list.append(element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }), element("dd", { className: "quiet", textContent: help })));
  }
  return element("section", {}, element("h3", { textContent: title }), list);
}

customElements.define("halo-figures", Figures);
