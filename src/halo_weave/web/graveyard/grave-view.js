// One entry of the graveyard.

/** @import { Grave } from "../shared/records.js" */
import { turnNumber } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { count, moment, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { resurrect, undelete } from "./returning.js";

const SHORT = 110; // about what two lines hold

export class GraveView extends Part {
  /** @type {Grave | null} */
  #grave = null;

  /** @param {Grave} [grave] */
  constructor(grave) {
    super();
    this.#grave = grave ?? null;
  }

  start() {
    if (!this.#grave || this.childElementCount) return;
    const { key, tokens, is_deleted: isDeleted, is_superseded: isSuperseded } = this.#grave;
    const who = names()[key.role];
    const turn = `turn ${turnNumber(key)}`;
    const label = isDeleted ? "Undelete" : "Resurrect";
    const back = element("button", { className: "outlined small", textContent: label, "aria-label": `${label}: ${who}, ${turn}` });
    back.onclick = () => this.#bringBack(back);
    const states = isSuperseded ? [badge("superseded")] : isDeleted ? [badge("deleted")] : [];
    const facts = [turn, plural(tokens, "token")].map((textContent) => element("span", { textContent }));
    const heading = element("div", { className: "grave-head" }, element("strong", { textContent: who }), ...facts, ...states, back);
    this.className = "grave";
    this.setAttribute("role", "listitem");
    this.classList.toggle("gone", isDeleted);
    this.replaceChildren(heading, excerpt(this.#grave.text), reasonView(this.#grave));
  }

  /** @param {HTMLButtonElement} button */
  async #bringBack(button) {
    const grave = this.#grave;
    if (!grave) return;
    button.disabled = true;
    const isDone = grave.is_deleted ? await undelete(grave.key) : await resurrect(grave.key);
    button.disabled = false;
    if (isDone) this.send("brought-back", grave);
  }
}

/** @param {Grave} grave */
function reasonView({ peak, reason, buried_at: buriedAt }) {
  const when = element("time", { dateTime: buriedAt, textContent: moment(buriedAt) });
  const facts = element("summary", { title: "Why it left the context" }, when, peak === null ? "" : ` · peak ${count(peak)}`);
  return element("details", { className: "grave-why" }, facts, element("p", { textContent: reason }));
}

/** @param {string} text */
function excerpt(text) {
  const paragraph = element("p", { className: "grave-text" });
  const isLong = text.length > SHORT || text.trim().split("\n").length > 2;
  const shorten = () => (paragraph.textContent = isLong ? text.trim().slice(0, 2 * SHORT) : text.trim());
  shorten();
  if (!isLong) return paragraph;
  paragraph.classList.add("short");
  const more = element("button", { className: "link", textContent: "Show all", "aria-expanded": "false" });
  more.onclick = () => {
    const isShort = paragraph.classList.toggle("short");
    if (isShort) shorten();
    else paragraph.textContent = text;
    more.textContent = isShort ? "Show all" : "Show less";
    more.setAttribute("aria-expanded", String(!isShort));
  };
  return element("div", {}, paragraph, more);
}

/** @param {string} textContent */
const badge = (textContent) => element("span", { className: "tag", textContent });

customElements.define("halo-grave", GraveView);
