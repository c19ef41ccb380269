// The memory tree: entries that were saved on purpose, under headings.

/** @import { TreeHit, TreeNode } from "../shared/records.js" */
import { treeApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";
import { newEntry } from "./new-entry.js";
import { deleteEntries } from "./tree-deleting.js";
import { TreeEntry } from "./tree-entry.js";

const NOTHING = "The tree is empty. You and the model can save entries here: each is JSON under a path such as Project/Goals, with the passages it is based on.";

export class Tree extends Part {
  /** @type {TreeNode | null} */
  #root = null;
  #chosen = ""; // the path that is shown at the side
  /** @type {Set<string>} */
  #closed = new Set(); // paths of headings that are collapsed
  #run = 0; // the newest request; answers to earlier ones are dropped
  #box = element("input", { type: "search", className: "field", placeholder: "Search", "aria-label": "Search the memory tree", autofocus: true, autocomplete: "off" });
  #list = element("div", { className: "tree-list" });
  #note = element("p", { className: "quiet", role: "status" });
  #side = element("div", { className: "tree-side" });

  start() {
    const begin = element("button", { className: "outlined small", textContent: "New entry", onclick: () => this.#begin() });
    const left = element("nav", { "aria-label": "Memory tree" }, element("div", { className: "row" }, this.#box, begin), this.#note, this.#list);
    this.replaceChildren(element("div", { className: "tree-columns" }, left, this.#side));
    this.#box.oninput = this.settled(250, () => this.#refresh());
    this.follow(app.model, "chunks", this.settled(800, () => this.#refresh())); // the model may have saved something
    this.hear("tree-changed", (path) => this.#take(path));
    this.#refresh();
  }

  /**
   * Show the result of an action.
   * @param {string} path empty if the entry was deleted
   */
  #take(path) {
    this.#chosen = path;
    if (!path) this.#side.replaceChildren();
    this.#refresh();
  }

  async #refresh() {
    const run = (this.#run += 1);
    const words = this.#box.value.trim();
    try {
      const show = words ? this.#showFound(await treeApi.search(words)) : this.#showTree(await treeApi.outline());
      if (run !== this.#run) return;
      show();
    } catch (error) {
      if (run === this.#run) this.#tell(errorText(error));
    }
    if (run === this.#run) this.#showEntry();
  }

  /** @param {TreeNode} root */
  #showTree(root) {
    return () => {
      this.#root = root;
      this.#tell(root.children.length ? "" : NOTHING);
      this.#list.replaceChildren(this.#branch(root));
    };
  }

  /** @param {TreeHit[]} found */
  #showFound(found) {
    return () => {
      this.#tell(found.length ? "" : "No entry found.");
      const rows = found.map((one) => {
        const facts = element("small", { textContent: `${moment(one.modified)} · score ${one.score.toFixed(2)}` });
        return element("li", {}, this.#item(one.path, one.path, facts));
      });
      this.#list.replaceChildren(element("ol", { className: "plain" }, ...rows));
    };
  }

  /** @param {TreeNode} node */
  #branch(node) {
    const list = element("ul", { className: "plain" });
    for (const child of node.children) list.append(this.#row(child));
    return list;
  }

  /** @param {TreeNode} node */
  #row(node) {
    const row = element("li");
    const isOpen = !this.#closed.has(node.path);
    const head = element("div", { className: "tree-row" });
    if (node.children.length) {
      const fold = element("button", { className: "fold", textContent: isOpen ? "▾" : "▸", "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Collapse" : "Expand"} ${node.path}` });
      fold.onclick = () => this.#fold(node.path);
      head.append(fold);
    }
    head.append(node.entry ? this.#item(node.path, node.heading) : element("span", { className: "tree-heading", textContent: node.heading }));
    if (!node.entry) head.append(element("button", { className: "link", textContent: "Delete all", "aria-label": `Delete everything under ${node.path}`, onclick: () => this.#delete(node.path) }));
    row.append(head);
    if (node.children.length && isOpen) row.append(this.#branch(node));
    return row;
  }

  /** @param {string} path */
  #delete(path) {
    deleteEntries(path, { isRecursive: true, changed: (shown) => this.send("tree-changed", shown) });
  }

  /**
   * @param {string} path
   * @param {string} text
   * @param {...HTMLElement} facts
   */
  #item(path, text, ...facts) {
    const item = element("button", { className: "item", "aria-current": String(path === this.#chosen) }, element("span", { textContent: text }), ...facts);
    item.onclick = () => {
      this.#chosen = path;
      for (const other of this.#list.querySelectorAll(".item")) other.setAttribute("aria-current", String(other === item));
      this.#showEntry();
    };
    return item;
  }

  /** @param {string} path */
  #fold(path) {
    if (!this.#root) return;
    if (!this.#closed.delete(path)) this.#closed.add(path);
    this.#list.replaceChildren(this.#branch(this.#root));
    const fold = [...this.#list.querySelectorAll(".fold")].find((one) => one.getAttribute("aria-label")?.endsWith(` ${path}`));
    if (fold instanceof HTMLElement) fold.focus();
  }

  #showEntry() {
    if (!this.#chosen) return;
    const shown = this.#side.firstElementChild;
    if (shown instanceof TreeEntry && shown.path === this.#chosen) shown.refresh();
    else this.#side.replaceChildren(new TreeEntry(this.#chosen, () => this.#hasMoreUnder(this.#root, this.#chosen)));
  }

  /**
   * @param {TreeNode | null} node
   * @param {string} path
   * @returns {boolean}
   */
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

  /** @param {string} text */
  #tell(text) {
    this.#note.textContent = text;
    this.#note.hidden = !text;
  }
}

customElements.define("halo-tree", Tree);
