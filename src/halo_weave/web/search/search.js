// One box over the whole memory, by words and meaning at once.

/** @import { Hit } from "../shared/records.js" */
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { HitPane } from "./hit-pane.js";
import { hitView } from "./hit-view.js";

const LIMIT = 50;
/** How far a key moves the selection. */
const STEPS = new Map([["ArrowDown", 1], ["ArrowUp", -1], ["PageDown", 5], ["PageUp", -5]]);

export class Search extends Part {
  /** @type {Hit[]} */
  #hits = [];
  #active = -1;
  #run = 0;
  #box = element("input", { type: "search", className: "field", placeholder: "Words or meaning", autofocus: true, autocomplete: "off", spellcheck: false });
  #role = element("select", { className: "field", "aria-label": "Speaker" });
  #since = element("input", { type: "date", className: "field", "aria-label": "From this day" });
  #until = element("input", { type: "date", className: "field", "aria-label": "Until this day" });
  #list = element("ul", { className: "plain hits", id: "search-hits", role: "listbox", "aria-label": "Results" });
  #note = element("p", { className: "quiet", role: "status" });
  #pane = new HitPane();

  start() {
    for (const [value, text] of [["", "Anyone"], ["user", "User"], ["assistant", "Model"], ["system", "System"]]) this.#role.append(new Option(text, value));
    for (const [name, value] of Object.entries({ role: "combobox", "aria-controls": "search-hits", "aria-expanded": "false", "aria-autocomplete": "list", "aria-label": "Search the memory" })) this.#box.setAttribute(name, value);
    const filters = element("div", { className: "filters" }, this.#role, labelled("from", this.#since), labelled("to", this.#until));
    this.replaceChildren(this.#box, filters, this.#note, this.#list, this.#pane);
    this.#box.oninput = this.settled(150, () => this.#search());
    this.#box.onkeydown = (event) => this.#press(event);
    for (const filter of [this.#role, this.#since, this.#until]) filter.onchange = () => this.#search();
    this.#search();
  }

  async #search() {
    const run = (this.#run += 1);
    const words = this.#box.value.trim();
    if (!words) return this.#show([], `Searches messages from all windows by words and by meaning${size()}.`);
    try {
      const hits = await programApi.search(this.#query(words));
      if (run === this.#run) this.#show(hits, hits.length ? "" : "No results.");
    } catch (error) {
      if (run === this.#run) this.#show([], errorText(error));
    }
  }

  /** @param {string} q */
  #query(q) {
    /** @type {Record<string, string>} */
    const query = { q, limit: String(LIMIT) };
    if (app.windowId) query.window = app.windowId;
    if (this.#role.value) query.role = this.#role.value;
    if (this.#since.value) query.since = midnight(this.#since.value, 0);
    if (this.#until.value) query.until = midnight(this.#until.value, 1);
    return query;
  }

  /**
   * @param {Hit[]} hits
   * @param {string} note
   */
  #show(hits, note) {
    this.#hits = hits;
    this.#note.textContent = note;
    this.#note.hidden = !note;
    this.#list.replaceChildren(...hits.map((hit, place) => this.#option(hit, place)));
    this.#list.hidden = !hits.length;
    this.#box.setAttribute("aria-expanded", String(hits.length > 0));
    this.#choose(hits.length ? 0 : -1);
  }

  /**
   * @param {Hit} hit
   * @param {number} place
   */
  #option(hit, place) {
    const option = hitView(hit, this.#box.value);
    option.id = `search-hit-${place}`;
    option.onclick = () => {
      this.#choose(place);
      if (hit.is_living) this.#pane.look();
    };
    return option;
  }

  /** @param {number} place */
  #choose(place) {
    this.#list.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = place;
    const option = this.#list.children[place];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.#box.setAttribute("aria-activedescendant", option.id);
    else this.#box.removeAttribute("aria-activedescendant");
    this.#pane.show(this.#hits[place] ?? null);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.key === "Escape") {
      event.preventDefault(); // it would only empty the box
      this.send("done");
      return;
    }
    if (event.isComposing || event.ctrlKey || event.metaKey || !this.#hits.length) return;
    const step = STEPS.get(event.key);
    if (step !== undefined) this.#choose(Math.min(this.#hits.length - 1, Math.max(0, this.#active + step)));
    else if (event.key === "Enter") this.#pane.look();
    else return;
    event.preventDefault();
  }
}

/**
 * @param {string} text
 * @param {HTMLElement} input
 */
const labelled = (text, input) => element("label", {}, element("span", { className: "quiet", textContent: text }), input);

const size = () => (app.program.status ? ` (${count(app.program.status.memory.chunks)} chunks)` : "");

/**
 * The beginning of a day in this time zone.
 * @param {string} day
 * @param {number} later by so many days
 */
function midnight(day, later) {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

customElements.define("halo-search", Search);
