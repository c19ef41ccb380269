// Where chunks were buried: a line in the conversation that opens the graveyard there.

/** @import { Gap } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { keyText, turnNumber } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { date, plural } from "../shared/format.js";
import { possessive } from "../shared/names.js";

export class Gaps {
  /** @type {Gap[]} */
  #gaps = [];
  /** @type {Map<string, HTMLElement>} */
  #views = new Map(); // by their gap as JSON

  /** Ask the server; whether they are different from before. */
  async refresh() {
    const gaps = await app.api.gaps().catch(() => null);
    if (gaps === null || JSON.stringify(gaps) === JSON.stringify(this.#gaps)) return false;
    this.#gaps = gaps;
    return true;
  }

  /** Make the views again, since the names of the speakers changed. */
  forgetViews() {
    this.#views.clear();
  }

  /** By the key of the chunk that they stand before; null for the end. */
  views() {
    const known = this.#views;
    this.#views = new Map();
    /** @type {Map<string | null, HTMLElement>} */
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

/** @param {Gap} gap */
function gapView(gap) {
  const [from, to] = [date(gap.from), date(gap.to)];
  const label = `${subject(gap)} out of context. Show`;
  const open = () => app.emit("graveyard-scope", { keys: gap.keys, text: place(gap) });
  return element("div", { className: "gap" }, element("button", { textContent: label, onclick: open, title: `${from === to ? from : `${from} – ${to}`}. Opens the graveyard.` }));
}

/**
 * "Halo's reply (60 tokens) is" or "12 passages (1,340 tokens) are".
 * @param {Gap} gap
 */
function subject({ chunks, tokens, keys }) {
  const size = `(${plural(tokens, "token")})`;
  const [first] = keys;
  const isOneMessage = first && keys.length === chunks && keys.every(({ turn, role }) => turn === first.turn && role === first.role);
  if (!isOneMessage) return `${plural(chunks, "passage")} ${size} ${chunks === 1 ? "is" : "are"}`;
  const message = `${possessive(first.role)} ${first.role === "assistant" ? "reply" : "message"}`;
  const isWhole = keys.some(({ chunk }) => chunk === 0); // a message's opening leaves last
  return `${isWhole ? message : `Part of ${message.replace(/^Your/u, "your")}`} ${size} is`;
}

/** @param {Gap} gap */
function place({ after, before }) {
  if (after && before) return `Between turn ${turnNumber(after)} and turn ${turnNumber(before)}`;
  if (before) return `Before turn ${turnNumber(before)}`;
  return after ? `After turn ${turnNumber(after)}` : "Everything here";
}
