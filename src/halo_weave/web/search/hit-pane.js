// The selected search result: its whole text, why it was found, and what can be done with it. Looking changes nothing;
// bringing a text back has a button of its own.

/** @import { Hit } from "../shared/records.js" */
import { resurrect } from "../graveyard/returning.js";
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { keyText, turnNumber } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { names } from "../shared/names.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { unitsOf } from "../shared/spans.js";

export class HitPane extends Part {
  /** @type {Hit | null} */
  #hit = null;

  /** @param {Hit | null} hit */
  show(hit) {
    this.#hit = hit;
    this.hidden = !hit;
    if (!hit) return this.replaceChildren();
    const text = element("div", { className: "hit-whole", tabIndex: 0, role: "region", "aria-label": "Whole text" }, ...underlined(hit));
    this.replaceChildren(text, element("div", { className: "hit-foot" }, why(hit), this.#actions(hit)));
  }

  // What Enter does: go to the message, here or in its own window; imported text is shown here. Looking changes nothing.
  look() {
    const hit = this.#hit;
    if (!hit) return;
    if (!hasPlace(hit)) {
      this.#showExchange(hit);
      return;
    }
    this.#end();
    if (hit.is_living) app.jumpTo(keyText(hit.key));
    else app.goTo(hit.window, keyText(hit.key));
  }

  /** @param {Hit} hit */
  #actions(hit) {
    const actions = element("span", { className: "row" });
    if (hit.is_buried && !hit.is_living) actions.append(element("button", { className: "outlined small", textContent: "Show in graveyard", onclick: () => this.#showGrave(hit) }));
    if (!hit.is_living) actions.append(element("button", { className: "outlined small", textContent: "Bring back and pin", onclick: () => this.#bringBack(hit) }));
    const label = hasPlace(hit) ? "Go to message" : "Show exchange";
    actions.append(element("button", { className: "primary small", textContent: `${label} ↵`, "aria-label": label, onclick: () => this.look() }));
    return actions;
  }

  /** @param {Hit} hit */
  async #bringBack({ key }) {
    if (await resurrect(key)) this.#end();
  }

  /** @param {Hit} hit */
  async #showExchange(hit) {
    const said = await attempt(() => programApi.turn(hit.key.turn));
    const text = this.querySelector(".hit-whole");
    if (!said || this.#hit !== hit || !text) return;
    const parts = said.map(({ key, text: words }) => element("p", {}, element("strong", { textContent: `${names()[key.role]}: ` }), words));
    text.replaceChildren(...parts);
    text.setAttribute("aria-label", "Whole exchange");
  }

  /** @param {Hit} hit */
  #showGrave({ key }) {
    this.#end();
    app.emit("graveyard-scope", { keys: [key], text: "From your search" });
  }

  #end() {
    this.send("done");
  }
}

/**
 * Whether it stands in a conversation that can be shown. Imported text does not.
 * @param {Hit} hit
 */
const hasPlace = ({ is_living: isLiving, window }) => isLiving || app.program.windows.some(({ id }) => id === window);

/**
 * The text, with the words underlined that the reader looks at.
 * @param {Hit} hit
 */
function underlined({ text, looked_at: spans }) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const [start, end] of unitsOf(text, spans)) {
    parts.push(text.slice(at, start), element("u", { textContent: text.slice(start, end) }));
    at = end;
  }
  return [...parts, text.slice(at)];
}

/** @param {Hit} hit */
function why({ key, similarity, attention_rank: attentionRank, word_rank: wordRank, vector_rank: vectorRank, is_wish: isWish, score }) {
  const parts = [`turn ${turnNumber(key)}`];
  if (similarity !== null) parts.push(`similarity ${similarity.toFixed(2)}`);
  parts.push(wordRank ? `rank ${wordRank} by words` : "no word match");
  parts.push(vectorRank ? `rank ${vectorRank} by meaning` : "no match by meaning");
  if (attentionRank) parts.push(`rank ${attentionRank} by attention`);
  if (isWish) parts.push("a preference or instruction");
  parts.push(`score ${score.toPrecision(3)}`);
  return element("small", { textContent: parts.join(" · ") });
}

customElements.define("halo-hit-pane", HitPane);
