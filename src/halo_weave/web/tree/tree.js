// The memory tree: what was decided to be kept, under headings.

import { app } from "../shared/app.js";
import { get } from "../shared/api.js";
import { element, moment } from "../shared/format.js";
import { Part, settled } from "../shared/part.js";
import { deleteEntries } from "./tree-deleting.js";
import { newEntry, TreeEntry } from "./tree-entry.js";

const NOTHING = "Nothing is kept here yet. The model saves what it wants to remember, and so can you: each entry is JSON under a path such as Project/Goals, with what was said about it.";

class Tree extends Part {
  #root = null;
  #chosen = ""; // the path that is shown at the side
  #closed = new Set(); // headings that are folded up
  #run = 0; // the newest loading; answers to earlier ones are dropped
  #box = element("input", { type: "search", className: "field", placeholder: "Search", "aria-label": "Search the memory tree", autofocus: true, autocomplete: "off" });
  #list = element("div", { className: "tree-list" });
  #note = element("p", { className: "quiet", role: "status" });
  #side = element("div", { className: "tree-side" });

  start() {
    const begin = element("button", { className: "outlined small", textContent: "New entry", onclick: () => this.#begin() });
    const left = element("nav", { "aria-label": "Memory tree" }, element("div", { className: "row" }, this.#box, begin), this.#note, this.#list);
    this.replaceChildren(element("div", { className: "tree-columns" }, left, this.#side));
    this.#box.oninput = settled(250, () => this.#refresh());
    this.follow(app.model, "chunks", settled(800, () => this.#refresh())); // the model may have saved something
    this.follow(this, "tree-changed", ({ detail }) => this.#take(detail));
    this.#refresh();
  }

  // Show what an action led to: an entry, or nothing if it was deleted.
  #take(path) {
    this.#chosen = path;
    if (!path) this.#side.replaceChildren();
    this.#refresh();
  }

  async #refresh() {
    const run = (this.#run += 1);
    const words = this.#box.value.trim();
    try {
      const answer = await get(words ? `/api/tree/search?${new URLSearchParams({ q: words })}` : "/api/tree");
      if (run !== this.#run) return;
      if (words) this.#showFound(answer);
      else this.#showTree(answer);
    } catch (error) {
      if (run === this.#run) this.#tell(error.message);
    }
    if (run === this.#run) this.#showEntry();
  }

  #showTree(root) {
    this.#root = root;
    this.#tell(root.children.length ? "" : NOTHING);
    this.#list.replaceChildren(this.#branch(root));
  }

  #showFound(found) {
    this.#tell(found.length ? "" : "Nothing is kept in the tree.");
    const rows = found.map((one) => {
      const facts = element("small", { textContent: `${moment(one.modified)} · score ${one.score.toFixed(2)}` });
      return element("li", {}, this.#item(one.path, one.path, facts));
    });
    this.#list.replaceChildren(element("ol", { className: "plain" }, ...rows));
  }

  #branch(node) {
    const list = element("ul", { className: "plain" });
    for (const child of node.children) list.append(this.#row(child));
    return list;
  }

  #row(node) {
    const row = element("li");
    const isOpen = !this.#closed.has(node.path);
    const head = element("div", { className: "tree-row" });
    if (node.children.length) {
      const fold = element("button", { className: "fold", textContent: isOpen ? "▾" : "▸", "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Fold" : "Unfold"} ${node.path}` });
      fold.onclick = () => this.#fold(node.path);
      head.append(fold);
    }
    head.append(node.entry ? this.#item(node.path, node.heading) : element("span", { className: "tree-heading", textContent: node.heading }));
    if (!node.entry) head.append(element("button", { className: "link", textContent: "Delete all", "aria-label": `Delete everything under ${node.path}`, onclick: () => deleteEntries(this, node.path, true) }));
    row.append(head);
    if (node.children.length && isOpen) row.append(this.#branch(node));
    return row;
  }

  #item(path, text, ...facts) {
    const item = element("button", { className: "item", "aria-current": String(path === this.#chosen) }, element("span", { textContent: text }), ...facts);
    item.onclick = () => {
      this.#chosen = path;
      for (const other of this.#list.querySelectorAll(".item")) other.setAttribute("aria-current", String(other === item));
      this.#showEntry();
    };
    return item;
  }

  #fold(path) {
    if (!this.#closed.delete(path)) this.#closed.add(path);
    this.#list.replaceChildren(this.#branch(this.#root));
    [...this.#list.querySelectorAll(".fold")].find((one) => one.getAttribute("aria-label").endsWith(` ${path}`))?.focus();
  }

  #showEntry() {
    if (!this.#chosen) return;
    const shown = this.#side.querySelector("halo-tree-entry");
    if (shown?.path === this.#chosen) shown.refresh();
    else this.#side.replaceChildren(new TreeEntry(this.#chosen, () => this.#hasMoreUnder(this.#root, this.#chosen)));
  }

  #hasMoreUnder(node, path) {
    if (node?.path === path) return node.children.length > 0;
    return node?.children.some((child) => this.#hasMoreUnder(child, path)) ?? false;
  }

  #begin() {
    this.#chosen = "";
    this.#list.querySelector('[aria-current="true"]')?.setAttribute("aria-current", "false");
    this.#side.replaceChildren(newEntry((path) => this.#take(path)));
    this.#side.querySelector("input")?.focus();
  }

  #tell(text) {
    this.#note.textContent = text;
    this.#note.hidden = !text;
  }
}

customElements.define("halo-tree", Tree);
