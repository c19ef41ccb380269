// One token: what it is and how bright it was. Hovering previews it, a click locks it.

/** @import { TokenPlace } from "../shared/events.js" */
/** @import { TokenDetails } from "../shared/records.js" */
import { toggleGraveyard } from "../graveyard/panel.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";

export class Card extends Part {
  /** @type {TokenPlace | null} */
  #locked = null;
  #isPast = false;

  start() {
    this.hidden = true;
    this.follow(app, "token-preview", (token) => {
      if (!this.#locked) this.#show(token);
    });
    this.follow(app, "token-lock", (token) => this.#lock(token));
    this.follow(app, "pin", () => this.#pin());
    this.follow(app.model, "reset", () => this.#unlock());
    this.follow(app, "past", (past) => {
      if (past || this.#isPast) this.#unlock();
      this.#isPast = past !== null;
    });
  }

  /** @param {TokenPlace} token */
  async #lock(token) {
    this.#locked = token;
    toggleGraveyard(true, { isKept: false }); // the card stands below it
    this.#show(token);
    if (this.#isPast) return; // the server knows the tokens of the present context
    const details = await app.api.token(token.chunk.key, token.place).catch(() => null);
    if (details && this.#locked === token) this.#show(token, details);
  }

  #unlock() {
    this.#locked = null;
    this.hidden = true;
  }

  #pin() {
    if (!this.#locked || this.#isPast) return;
    const { chunk } = this.#locked;
    attempt(() => app.api.chunk(chunk.key, chunk.is_pinned ? "unpin" : "pin"));
  }

  /**
   * @param {TokenPlace | null} token
   * @param {TokenDetails | null} details
   */
  #show(token, details = null) {
    this.hidden = !token;
    if (!token) return;
    const { chunk, place } = token;
    const piece = chunk.pieces[place].replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥") || "∅";
    const position = (BigInt(chunk.position) + BigInt(place)).toString();
    const facts = [details && `token ${details.id}`, chunk.is_pinned ? "pinned" : "in context", chunk.returned].filter(Boolean);
    this.replaceChildren(
      element("p", {}, element("b", { className: "piece", textContent: piece }), ` position ${position} · turn ${chunk.turn}`),
      element("p", {}, "brightness ", element("b", { textContent: count(Math.round(chunk.brightness[place] ?? 0)) }), ` · chunk peak ${count(Math.round(Math.max(0, ...chunk.brightness)))}`),
      element("p", { className: "quiet", textContent: facts.join(" · ") }),
    );
    if (details && details.history?.length > 1) this.append(history(details.history));
    if (this.#locked) this.append(element("button", { className: "outlined", textContent: "Close", onclick: () => this.#unlock() }));
  }
}

/** @param {number[]} values */
function history(values) {
  const lowest = Math.min(...values);
  const span = Math.max(1, Math.max(...values) - lowest);
  const bars = element("div", { className: "history", role: "img", "aria-label": `Brightness over the last ${values.length} steps: ${values.join(", ")}.` });
  for (const value of values) {
    const bar = element("span");
    bar.style.setProperty("height", `${8 + (92 * (value - lowest)) / span}%`);
    bars.append(bar);
  }
  return bars;
}

customElements.define("halo-card", Card);
