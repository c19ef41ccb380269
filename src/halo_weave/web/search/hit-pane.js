// The hit that is chosen: its whole text, why it was found, and what can be done with it.

import { app } from "../shared/app.js";
import { keyText } from "../shared/api.js";
import { element } from "../shared/format.js";
import { turnNumber } from "../graveyard/grave-view.js";
import { resurrect } from "../shared/returning.js";

export class HitPane extends HTMLElement {
  #hit = null;

  show(hit) {
    this.#hit = hit;
    this.hidden = !hit;
    if (!hit) return this.replaceChildren();
    const text = element("div", { className: "hit-whole", textContent: hit.text, tabIndex: 0, role: "region", "aria-label": "Whole text" });
    this.replaceChildren(text, element("div", { className: "hit-foot" }, why(hit), this.#actions(hit)));
  }

  // What Enter does: go to what lives here, bring back what does not.
  async act() {
    const hit = this.#hit;
    if (!hit) return;
    if (hit.is_living) {
      this.#end();
      app.jumpTo(keyText(hit.key));
    } else if (await resurrect(hit.key)) this.#end();
  }

  #actions(hit) {
    const main = element("button", { className: "primary small", textContent: hit.is_living ? "Go to it ↵" : "Resurrect ↵", onclick: () => this.act() });
    main.setAttribute("aria-label", hit.is_living ? "Go to it" : "Resurrect");
    const actions = element("span", { className: "row" }, main);
    if (!hit.is_living && hit.is_buried) actions.prepend(element("button", { className: "outlined small", textContent: "Show in graveyard", onclick: () => this.#showGrave() }));
    return actions;
  }

  #showGrave() {
    const { key } = this.#hit;
    this.#end();
    app.dispatchEvent(new CustomEvent("gap", { detail: { keys: [key], text: "Found by your search" } }));
  }

  #end() {
    this.dispatchEvent(new CustomEvent("done", { bubbles: true }));
  }
}

function why({ key, similarity, word_rank: wordRank, vector_rank: vectorRank, is_wish: isWish, score }) {
  const parts = [`turn ${turnNumber(key)}`];
  if (similarity !== null) parts.push(`similarity ${similarity.toFixed(2)}`);
  parts.push(wordRank ? `words: no. ${wordRank}` : "words: not found");
  parts.push(vectorRank ? `meaning: no. ${vectorRank}` : "meaning: not near");
  if (isWish) parts.push("a wish");
  parts.push(`score ${score.toPrecision(3)}`);
  return element("small", { textContent: parts.join(" · ") });
}

customElements.define("halo-hit-pane", HitPane);
