// The numbers of this window and of the memory.

import { app } from "../shared/app.js";
import { bytes, count, element, plural, seconds } from "../shared/format.js";
import { Part } from "../shared/part.js";

const UNKNOWN = "–";

class Figures extends Part {
  start() {
    this.follow(app.model, "reset meta chunks brightness", () => this.#draw());
    this.follow(app, "status", () => this.#draw());
    app.refreshStatus();
    this.#draw();
  }

  #draw() {
    const { info } = app.model;
    const parts = [];
    if (info) parts.push(group("This window", ofWindow(info)), group("Last turn", ofTurn(info.stats ?? {})));
    if (app.status) parts.push(group("Memory", ofMemory(app.status.memory)));
    this.replaceChildren(...(parts.length ? parts : [element("p", { className: "quiet", textContent: "Nothing to tell yet; the model is not there." })]));
  }
}

function ofWindow(info) {
  const [lowest, highest] = brightnessRange();
  return [
    ["Living tokens", `${count(info.tokens)} of ${count(info.budget)}`, `The budget; the model itself can take ${count(info.usable)}.`],
    ["Brightness", highest === null ? UNKNOWN : `${count(lowest)} – ${count(highest)}`, "The dimmest and the brightest living token."],
    ["Next to be buried", nextToBury(info), "Dotted in the weave view; a number is their peak brightness, where that alone decides."],
    ["Pruned", plural(info.buried, "chunk"), "Left the context of this window; they lie in the graveyard."],
    ["Messages", count(info.messages), "Sent in this window."],
  ];
}

function nextToBury({ next_to_bury: peak, next_keys: keys }) {
  if (!keys?.length) return UNKNOWN;
  return peak === null ? plural(keys.length, "chunk") : count(peak);
}

function ofTurn(stats) {
  const written = stats.reply_s - stats.first_token_s;
  const speed = stats.generated > 1 && written > 0 ? (stats.generated - 1) / written : null;
  return [
    ["Tokens decoded", known(stats.decoded, count), "Read anew for the last reply; the rest was still in the model's state."],
    ["Tokens written", known(stats.generated, count), "Of the last reply."],
    ["Resurrected", known(stats.resurrected, count), "Tokens that came back from the memory."],
    ["First token", known(stats.first_token_s, seconds), "From sending to the first token."],
    ["Speed", speed === null ? UNKNOWN : `${speed.toFixed(1)} tokens/s`, "After the first token."],
    ["Malformed attention", known(stats.malformed, count), "Steps whose attention could not be used; above 0 is worth a report."],
  ];
}

function ofMemory(memory) {
  return [
    ["Chunks", count(memory.chunks), `${count(memory.deleted)} of them deleted, which can be undone.`],
    ["Tokens", count(memory.tokens), "Everything that was ever said, word for word."],
    ["On disk", bytes(memory.bytes), "The memory's file."],
    ["Without a vector", count(memory.missing_vectors), `Not yet found by meaning with ${memory.embedder}.`],
  ];
}

const known = (value, shown) => (typeof value === "number" ? shown(value) : UNKNOWN);

function brightnessRange() {
  let [lowest, highest] = [null, null];
  for (const { brightness } of app.model.chunks) {
    for (const value of brightness) {
      if (lowest === null || value < lowest) lowest = value;
      if (highest === null || value > highest) highest = value;
    }
  }
  return [lowest, highest];
}

function group(title, rows) {
  const list = element("dl", { className: "figures" });
  for (const [name, value, help] of rows) {
    list.append(element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }), element("dd", { className: "quiet", textContent: help })));
  }
  return element("section", {}, element("h3", { textContent: title }), list);
}

customElements.define("halo-figures", Figures);
