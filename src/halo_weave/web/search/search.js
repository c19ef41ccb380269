// One box over the whole memory, by words and meaning at once.

import { app } from "../shared/app.js";
import { get, keyText } from "../shared/api.js";
import { count, element } from "../shared/format.js";
import { HitPane } from "./hit-pane.js";
import { hitView } from "./hit-view.js";
import { Part, settled } from "../shared/part.js";

const LIMIT = 50;

class Search extends Part {
  #hits = [];
  #active = -1;
  #run = 0;
  #box = element("input", { type: "search", className: "field", placeholder: "Words or meaning", autofocus: true, autocomplete: "off", spellcheck: false });
  #role = element("select", { className: "field", "aria-label": "Who said it" });
  #since = element("input", { type: "date", className: "field", "aria-label": "Said on this day or later" });
  #until = element("input", { type: "date", className: "field", "aria-label": "Said on this day or earlier" });
  #list = element("ul", { className: "plain hits", id: "search-hits", role: "listbox", "aria-label": "Found" });
  #note = element("p", { className: "quiet", role: "status" });
  #pane = new HitPane();

  start() {
    for (const [value, text] of [["", "Anyone"], ["user", "User"], ["assistant", "Model"], ["system", "System"]]) this.#role.append(new Option(text, value));
    for (const [name, value] of Object.entries({ role: "combobox", "aria-controls": "search-hits", "aria-expanded": "false", "aria-autocomplete": "list", "aria-label": "Search the memory" })) this.#box.setAttribute(name, value);
    const filters = element("div", { className: "filters" }, this.#role, labelled("from", this.#since), labelled("to", this.#until));
    this.replaceChildren(this.#box, filters, this.#note, this.#list, this.#pane);
    this.#box.oninput = settled(150, () => this.#search());
    this.#box.onkeydown = (event) => this.#press(event);
    for (const filter of [this.#role, this.#since, this.#until]) filter.onchange = () => this.#search();
    this.#search();
  }

  async #search() {
    const run = (this.#run += 1);
    const words = this.#box.value.trim();
    if (!words) return this.#show([], `Finds what was said in any window, by words and by meaning${size()}.`);
    try {
      const hits = await get(`/api/search?${this.#query(words)}`);
      if (run === this.#run) this.#show(hits, hits.length ? "" : "Nothing in the memory is like this.");
    } catch (error) {
      if (run === this.#run) this.#show([], error.message);
    }
  }

  #query(q) {
    const query = new URLSearchParams({ q, limit: LIMIT });
    if (app.windowId) query.set("window", app.windowId);
    if (this.#role.value) query.set("role", this.#role.value);
    if (this.#since.value) query.set("since", midnight(this.#since.value, 0));
    if (this.#until.value) query.set("until", midnight(this.#until.value, 1));
    return query;
  }

  #show(hits, note) {
    this.#hits = hits;
    this.#note.textContent = note;
    this.#note.hidden = !note;
    this.#list.replaceChildren(...hits.map((hit, place) => this.#option(hit, place)));
    this.#list.hidden = !hits.length;
    this.#box.setAttribute("aria-expanded", String(hits.length > 0));
    this.#choose(hits.length ? 0 : -1);
  }

  #option(hit, place) {
    const option = hitView(hit, this.#box.value);
    option.id = `search-hit-${place}`;
    option.onclick = () => {
      this.#choose(place);
      if (hit.is_living) this.#pane.act();
    };
    return option;
  }

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

  #press(event) {
    if (event.key === "Escape") {
      event.preventDefault(); // it would only empty the box
      this.dispatchEvent(new CustomEvent("done", { bubbles: true }));
      return;
    }
    if (event.isComposing || event.ctrlKey || event.metaKey || !this.#hits.length) return;
    const last = this.#hits.length - 1;
    const next = { ArrowDown: Math.min(last, this.#active + 1), ArrowUp: Math.max(0, this.#active - 1), PageDown: Math.min(last, this.#active + 5), PageUp: Math.max(0, this.#active - 5) }[event.key];
    if (next !== undefined) this.#choose(next);
    else if (event.key === "Enter") this.#pane.act();
    else return;
    event.preventDefault();
  }
}

const labelled = (text, input) => element("label", {}, element("span", { className: "quiet", textContent: text }), input);

const size = () => (app.status ? `, among ${count(app.status.memory.chunks)} chunks` : "");

// The beginning of a day here, so many days later, with its time zone.
function midnight(day, later) {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

customElements.define("halo-search", Search);
