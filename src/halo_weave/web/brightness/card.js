// One token: what it is and how bright it was. Hovering previews it, a click locks it.

import { app } from "../shared/app.js";
import { count, element } from "../shared/format.js";

class Card extends HTMLElement {
  #locked = null;

  connectedCallback() {
    this.hidden = true;
    app.addEventListener("token-preview", ({ detail }) => {
      if (!this.#locked) this.#show(detail);
    });
    app.addEventListener("token-lock", ({ detail }) => this.#lock(detail));
    app.addEventListener("pin", () => {
      if (this.#locked) app.attempt(() => app.api.chunk(this.#locked.chunk.key, this.#locked.chunk.is_pinned ? "unpin" : "pin"));
    });
    app.model.addEventListener("reset", () => this.#unlock());
  }

  async #lock(token) {
    this.#locked = token;
    document.getElementById("right").hidden = false;
    document.getElementById("toggle-right").setAttribute("aria-expanded", "true");
    this.#show(token);
    const details = await app.api.token(token.chunk.key, token.place).catch(() => null);
    if (details && this.#locked === token) this.#show(token, details);
  }

  #unlock() {
    this.#locked = null;
    this.hidden = true;
  }

  #show(token, details = null) {
    this.hidden = !token;
    if (!token) return;
    const { chunk, place } = token;
    const piece = chunk.pieces[place].replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥") || "∅";
    const position = (BigInt(chunk.position) + BigInt(place)).toString();
    this.replaceChildren(
      element("p", {}, element("b", { className: "piece", textContent: piece }), ` position ${position} · turn ${chunk.turn}`),
      element("p", {}, "brightness ", element("b", { textContent: count(Math.round(chunk.brightness[place])) }), ` · peak of its chunk ${count(Math.round(Math.max(...chunk.brightness)))}`),
      element("p", { className: "quiet", textContent: [details && `token ${details.id}`, chunk.is_pinned ? "pinned" : "living", chunk.returned].filter(Boolean).join(" · ") }),
    );
    if (details?.history?.length > 1) this.append(history(details.history));
    if (this.#locked) this.append(element("button", { className: "outlined", textContent: "Close", onclick: () => this.#unlock() }));
  }
}

function history(values) {
  const lowest = Math.min(...values);
  const span = Math.max(1, Math.max(...values) - lowest);
  const bars = element("div", { className: "history", role: "img", "aria-label": `Brightness of the last ${values.length} looks: ${values.join(", ")}.` });
  for (const value of values) {
    const bar = element("span");
    bar.style.setProperty("height", `${8 + (92 * (value - lowest)) / span}%`);
    bars.append(bar);
  }
  return bars;
}

customElements.define("halo-card", Card);
