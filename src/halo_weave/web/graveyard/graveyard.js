// What left the context of this window, and the way back.

import { app } from "../shared/app.js";
import { get, keyText } from "../shared/api.js";
import { count, element, plural } from "../shared/format.js";
import { graveView, turnNumber } from "./grave-view.js";
import { names } from "../shared/names.js";
import { Part, arrange, settled } from "../shared/part.js";

const PAGE = 50;
const FILTERED_PAGE = 500;
const PLACE = "halo-graveyard";
const covers = matchMedia("(max-width: 1080px)"); // there the panel lies over the conversation
const NOTHING = "Nothing is buried in this window. When its context is full, what says least and shines least comes here, word for word.";

class Graveyard extends Part {
  #graves = [];
  #views = new Map(); // by key, as long as the entry is the same
  #isComplete = false;
  #wanted = PAGE;
  #run = 0; // the newest loading; answers to earlier ones are dropped
  #isStale = true;
  #scope = null; // {keys, text}: only what lies in one gap
  #counts = element("small");
  #filter = element("input", { type: "search", className: "field", placeholder: "Filter", "aria-label": "Filter the graveyard" });
  #scopeRow = element("div", { className: "scope", hidden: true });
  #list = element("ul", { className: "plain graves" });
  #note = element("p", { className: "quiet", role: "status" });
  #more = element("button", { className: "outlined small", textContent: "Show more", hidden: true });

  start() {
    const heading = element("div", { className: "panel-head" }, element("h2", { textContent: "Graveyard" }), this.#counts);
    this.replaceChildren(heading, this.#filter, this.#scopeRow, this.#list, this.#note, this.#more);
    const refresh = settled(300, () => this.#refresh());
    this.follow(app.model, "chunks undeleted", refresh);
    this.follow(app.model, "reset", () => this.#reset());
    this.follow(app, "names", () => this.#forgetViews());
    this.follow(app, "gap", ({ detail }) => this.#showGap(detail));
    this.follow(app, "graveyard", ({ detail }) => detail && this.#isStale && this.#refresh());
    this.follow(this, "brought-back", () => covers.matches && toggleGraveyard(false));
    this.#filter.oninput = settled(150, () => {
      this.#wanted = PAGE;
      this.#fill();
    });
    this.#more.onclick = () => {
      this.#wanted += PAGE;
      this.#fill();
    };
    const button = document.getElementById("toggle-right");
    if (button) button.onclick = () => toggleGraveyard();
    toggleGraveyard(!covers.matches && localStorage.getItem(PLACE) !== "closed", { isKept: false });
  }

  #reset() {
    this.#scope = null;
    this.#filter.value = "";
    this.#wanted = PAGE;
    this.#refresh();
  }

  #refresh() {
    this.#isStale = true;
    if (!isShown() || !app.windowId) return;
    this.#isStale = false;
    this.#graves = [];
    this.#isComplete = false;
    this.#fill();
    this.#count();
  }

  async #count() {
    const gaps = await app.api.gaps().catch(() => null);
    if (!gaps) return;
    const sum = (name) => gaps.reduce((total, gap) => total + gap[name], 0);
    this.#counts.textContent = `${plural(sum("chunks"), "chunk")} · ${count(sum("tokens"))} tokens`;
  }

  // Load until enough is there that fits the filter.
  async #fill() {
    const run = (this.#run += 1);
    let problem = "";
    try {
      while (!this.#isComplete && this.#matching().length < this.#wanted) {
        const limit = this.#filter.value ? FILTERED_PAGE : PAGE;
        const page = await get(this.#path(limit));
        if (run !== this.#run) return;
        this.#graves.push(...page);
        this.#isComplete = Boolean(this.#scope) || page.length < limit;
      }
    } catch (error) {
      if (run !== this.#run) return;
      problem = error.message;
    }
    this.#draw(problem);
  }

  #path(limit) {
    const base = `/api/windows/${encodeURIComponent(app.windowId)}/graveyard`;
    if (this.#scope) return `${base}?keys=${this.#scope.keys.map(keyText).join(",")}`;
    const last = this.#graves.at(-1);
    return `${base}?limit=${limit}${last ? `&before=${keyText(last.key)}` : ""}`;
  }

  #matching() {
    const words = this.#filter.value.trim().toLowerCase();
    if (!words) return this.#graves;
    const called = names();
    const fits = ({ text, key }) => text.toLowerCase().includes(words) || called[key.role].toLowerCase() === words || key.turn === words;
    return this.#graves.filter(fits);
  }

  #draw(problem) {
    const matching = this.#matching();
    const shown = matching.slice(0, this.#wanted);
    const views = new Map(shown.map((grave) => [signature(grave), grave]));
    for (const [key, grave] of views) views.set(key, this.#views.get(key) ?? graveView(grave));
    this.#views = views;
    arrange(this.#list, [...views.values()]);
    this.#more.hidden = this.#isComplete && matching.length <= this.#wanted;
    const empty = this.#filter.value ? "Nothing buried here fits the filter. Ctrl K searches the whole memory." : NOTHING;
    this.#note.textContent = problem || (shown.length ? "" : empty);
    this.#drawScope();
  }

  #drawScope() {
    this.#scopeRow.hidden = !this.#scope;
    if (!this.#scope) return;
    const all = element("button", { className: "link", textContent: "Show all", onclick: () => this.#reset() });
    this.#scopeRow.replaceChildren(element("span", { textContent: this.#scope.text }), all);
  }

  async #showGap(gap) {
    const keys = gap.keys ?? (await this.#keysBetween(gap));
    if (!keys?.length) return;
    this.#filter.value = "";
    this.#wanted = PAGE;
    this.#scope = { keys, text: gap.text ?? whereIsIt(gap) };
    this.#isStale = true;
    toggleGraveyard(true);
    this.#filter.focus({ preventScroll: true });
  }

  async #keysBetween({ after, before }) {
    const same = (one, other) => (one === null ? other === null : other !== null && keyText(one) === keyText(other));
    const gaps = await app.api.gaps().catch(() => []);
    return gaps.find((gap) => same(gap.after, after) && same(gap.before, before))?.keys;
  }

  #forgetViews() {
    this.#views.clear();
    this.#draw("");
  }
}

const signature = (grave) => `${keyText(grave.key)} ${grave.buried_at} ${grave.is_deleted} ${grave.is_superseded}`;

function whereIsIt({ after, before }) {
  if (after && before) return `Between turn ${turnNumber(after)} and turn ${turnNumber(before)}`;
  if (before) return `Before turn ${turnNumber(before)}`;
  return after ? `After turn ${turnNumber(after)}` : "All of this place";
}

const isShown = () => !document.getElementById("right")?.hidden;

// Show or hide the panel; without `isWanted` the other of both.
export function toggleGraveyard(isWanted = !isShown(), { isKept = true } = {}) {
  const panel = document.getElementById("right");
  if (!panel) return;
  panel.hidden = !isWanted;
  document.getElementById("toggle-right")?.setAttribute("aria-expanded", String(isWanted));
  if (isKept) localStorage.setItem(PLACE, isWanted ? "open" : "closed");
  app.dispatchEvent(new CustomEvent("graveyard", { detail: isWanted }));
}

customElements.define("halo-graveyard", Graveyard);
