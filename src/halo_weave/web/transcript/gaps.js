// Where something was buried: a line in the conversation that opens the graveyard there.

import { app } from "../shared/app.js";
import { keyText } from "../shared/api.js";
import { count, date, element, plural } from "../shared/format.js";

export class Gaps {
  #gaps = [];
  #views = new Map(); // by what they tell

  // Ask the server; whether they are others than before.
  async refresh() {
    const gaps = await app.api.gaps().catch(() => null);
    if (gaps === null || JSON.stringify(gaps) === JSON.stringify(this.#gaps)) return false;
    this.#gaps = gaps;
    return true;
  }

  // By the key of the chunk that they stand before; null for the end.
  views() {
    const known = this.#views;
    this.#views = new Map();
    const views = new Map();
    for (const gap of this.#gaps) {
      const name = JSON.stringify(gap);
      const view = known.get(name) ?? gapView(gap);
      this.#views.set(name, view);
      views.set(gap.before && keyText(gap.before), view);
    }
    return views;
  }
}

function gapView(gap) {
  const [from, to] = [date(gap.from), date(gap.to)];
  const label = `${plural(gap.chunks, "chunk")} · ${count(gap.tokens)} tokens faded here · ${from === to ? from : `${from} – ${to}`}`;
  const open = () => app.dispatchEvent(new CustomEvent("gap", { detail: gap }));
  return element("div", { className: "gap" }, element("button", { textContent: label, onclick: open, title: "Show what was buried here" }));
}
