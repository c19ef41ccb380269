// The chunks that left the context of this window, and the way back.

/** @import { GraveyardScope } from "../shared/events.js" */
/** @import { Grave } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { keyText } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { count, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { GraveView } from "./grave-view.js";
import { isGraveyardShown, isOverConversation, isShownAtStart, toggleGraveyard } from "./panel.js";

const PAGE = 50;
const FILTERED_PAGE = 500;
const MEANING = "Passages that left this window's context, word for word. A message that needs one brings it back.";
const NOTHING = "Nothing is buried in this window. When its context is full, the least useful passages move here.";
const NO_MATCH = "No buried passage matches the filter. Press Ctrl+K to search the whole memory.";

export class Graveyard extends Part {
  /** @type {Grave[]} */
  #graves = [];
  /** @type {Map<string, GraveView>} */
  #views = new Map(); // by key, as long as the entry is the same
  #isComplete = false;
  #wanted = PAGE;
  #run = 0; // the newest request; answers to earlier ones are dropped
  #isStale = true;
  /** @type {GraveyardScope | null} */
  #scope = null;
  #counts = element("small");
  #filter = element("input", { type: "search", className: "field", placeholder: "Filter", "aria-label": "Filter the graveyard" });
  #scopeRow = element("div", { className: "scope", hidden: true });
  #list = element("div", { className: "graves", role: "list" });
  #note = element("p", { className: "quiet", role: "status" });
  #more = element("button", { className: "outlined small", textContent: "Show more", hidden: true });

  start() {
    const heading = element("div", { className: "panel-head" }, element("h2", { textContent: "Graveyard" }), this.#counts);
    this.replaceChildren(heading, element("p", { className: "quiet meaning", textContent: MEANING }), this.#filter, this.#scopeRow, this.#list, this.#note, this.#more);
    this.follow(app.model, ["chunks", "undeleted"], this.settled(300, () => this.#refresh()));
    this.follow(app.model, "reset", () => this.#reset());
    this.follow(app.model, ["reset", "meta"], () => this.#count());
    this.follow(app, "names", () => this.#forgetViews());
    this.follow(app, "graveyard-scope", (scope) => this.#show(scope));
    this.follow(app, "graveyard", (isShown) => isShown && this.#isStale && this.#refresh());
    this.hear("brought-back", () => isOverConversation() && toggleGraveyard(false));
    this.#filter.oninput = this.settled(150, () => {
      this.#wanted = PAGE;
      this.#fill();
    });
    this.#more.onclick = () => {
      this.#wanted += PAGE;
      this.#fill();
    };
    toggleGraveyard(isShownAtStart(), { isKept: false });
  }

  #reset() {
    this.#scope = null;
    this.#filter.value = "";
    this.#wanted = PAGE;
    this.#refresh();
  }

  #refresh() {
    this.#isStale = true;
    if (!isGraveyardShown() || !app.windowId) return;
    this.#isStale = false;
    this.#graves = [];
    this.#isComplete = false;
    this.#fill();
  }

  #count() {
    const { info } = app.model;
    if (info) this.#counts.textContent = `${plural(info.buried, "chunk")} · ${count(info.buried_tokens)} tokens`;
  }

  // Load until enough is there that matches the filter.
  async #fill() {
    const run = (this.#run += 1);
    let problem = "";
    try {
      while (!this.#isComplete && this.#matching().length < this.#wanted) {
        const limit = this.#filter.value ? FILTERED_PAGE : PAGE;
        const page = await (this.#scope ? app.api.graves(this.#scope.keys) : app.api.graveyard(limit, this.#graves.at(-1)?.key));
        if (run !== this.#run) return;
        this.#graves.push(...page);
        this.#isComplete = Boolean(this.#scope) || page.length < limit;
      }
    } catch (error) {
      if (run !== this.#run) return;
      problem = errorText(error);
    }
    this.#draw(problem);
  }

  #matching() {
    const words = this.#filter.value.trim().toLowerCase();
    if (!words) return this.#graves;
    const called = names();
    return this.#graves.filter(({ text, key }) => text.toLowerCase().includes(words) || called[key.role].toLowerCase() === words || key.turn === words);
  }

  /** @param {string} problem */
  #draw(problem) {
    const matching = this.#matching();
    const shown = matching.slice(0, this.#wanted);
    this.#views = new Map(shown.map((grave) => [signature(grave), this.#views.get(signature(grave)) ?? new GraveView(grave)]));
    arrange(this.#list, [...this.#views.values()]);
    this.#more.hidden = this.#isComplete && matching.length <= this.#wanted;
    const empty = this.#filter.value ? NO_MATCH : NOTHING;
    this.#note.textContent = problem || (shown.length ? "" : empty);
    this.#drawScope();
  }

  #drawScope() {
    this.#scopeRow.hidden = !this.#scope;
    if (!this.#scope) return;
    const all = element("button", { className: "link", textContent: "Show all", onclick: () => this.#reset() });
    this.#scopeRow.replaceChildren(element("span", { textContent: this.#scope.text }), all);
  }

  /** @param {GraveyardScope} scope */
  #show(scope) {
    if (!scope.keys.length) return;
    this.#filter.value = "";
    this.#wanted = PAGE;
    this.#scope = scope;
    this.#isStale = true;
    toggleGraveyard(true);
    this.#filter.focus({ preventScroll: true });
  }

  #forgetViews() {
    this.#views.clear();
    this.#draw("");
  }
}

/** @param {Grave} grave */
const signature = (grave) => `${keyText(grave.key)} ${grave.buried_at} ${grave.is_deleted} ${grave.is_superseded}`;

customElements.define("halo-graveyard", Graveyard);
