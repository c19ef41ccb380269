// One entry of the memory tree: its content, the passages it is based on, and its versions.

/** @import { TreeEntryRecord, TreeVersion } from "../shared/records.js" */
import { treeApi } from "../shared/api.js";
import { element } from "../shared/element.js";
import { moment, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { asDocument, asTyped, contentProblem } from "../shared/plain-text.js";
import { errorText, isConflict } from "../shared/request.js";
import { deleteEntries } from "./tree-deleting.js";
import { diffView } from "./tree-diff.js";

export class TreeEntry extends Part {
  /** @type {TreeEntryRecord | null} */
  #entry = null;
  #hasMoreUnder;
  #facts = element("p", { className: "quiet" });
  #note = element("p", { role: "status" });
  #actions = element("div", { className: "row" });
  #editor = element("textarea", { className: "field mono", rows: 10, spellcheck: false, "aria-label": "Content" });
  #snapshot = element("details", { className: "tree-part" });
  #versions = element("details", { className: "tree-part" });
  #diff = element("div");

  /**
   * @param {string} [path]
   * @param {() => boolean} [hasMoreUnder] whether there are entries under it
   */
  constructor(path = "", hasMoreUnder = () => false) {
    super();
    this.path = path;
    this.#hasMoreUnder = hasMoreUnder;
  }

  start() {
    this.replaceChildren(element("h3", { className: "tree-path", textContent: this.path }), this.#facts, this.#editor, this.#note, this.#actions, this.#snapshot, this.#versions, this.#diff);
    this.#editor.oninput = () => this.#check();
    this.#versions.ontoggle = () => this.#versions.open && this.#showVersions();
    this.refresh();
  }

  // Unsaved text stays; a note says if somebody else saved another version meanwhile.
  async refresh() {
    if (!this.path) return;
    try {
      const entry = await treeApi.entry(this.path);
      if (entry.version === this.#entry?.version) return;
      if (this.#isChanged()) this.#tell(`Version ${entry.version} was saved elsewhere in the meantime.`, true);
      else this.#show(entry);
    } catch (error) {
      this.#tell(errorText(error), true);
    }
  }

  /** @param {TreeEntryRecord} entry */
  #show(entry) {
    this.#entry = entry;
    this.#editor.value = asTyped(entry);
    this.#facts.textContent = [`version ${entry.version}`, `saved ${moment(entry.modified)}`, `created ${moment(entry.created)}`, `last read ${moment(entry.accessed)}`].join(" · ");
    this.#diff.replaceChildren();
    this.#check();
    this.#showSnapshot(entry);
    if (this.#versions.open) this.#showVersions();
    else this.#versions.replaceChildren(element("summary", { textContent: "Versions" }));
  }

  #isChanged() {
    return this.#entry !== null && this.#editor.value !== asTyped(this.#entry);
  }

  #check() {
    const problem = contentProblem(this.#editor.value);
    this.#editor.setAttribute("aria-invalid", String(Boolean(problem)));
    this.#tell(problem, true);
    const save = element("button", { className: "primary small", textContent: "Save", disabled: Boolean(problem) || !this.#isChanged(), onclick: () => this.#save(this.#entry?.version ?? null) });
    const remove = element("button", { className: "outlined small danger", textContent: "Delete", onclick: () => this.#delete(false) });
    const branch = element("button", { className: "outlined small danger", textContent: "Delete with all subentries", onclick: () => this.#delete(true) });
    this.#actions.replaceChildren(save, remove, ...(this.#hasMoreUnder() ? [branch] : []));
  }

  // Sent from the tree, since this view may be gone when the deletion is undone.
  /** @param {boolean} isRecursive */
  #delete(isRecursive) {
    const tree = this.closest("halo-tree");
    deleteEntries(this.path, { isRecursive, changed: (path) => tree instanceof Part && tree.send("tree-changed", path) });
  }

  /** @param {number | null} expected */
  async #save(expected) {
    if (contentProblem(this.#editor.value)) return;
    try {
      await treeApi.save(this.path, asDocument(this.#editor.value), expected);
      await this.#reload("Saved.");
    } catch (error) {
      this.#tell(errorText(error), true);
      if (isConflict(error)) this.#offerWays();
    }
  }

  #offerWays() {
    const theirs = element("button", { className: "outlined small", textContent: "Show the current version", onclick: () => this.#reload("") });
    const mine = element("button", { className: "outlined small", textContent: "Overwrite with mine", onclick: () => this.#save(null) });
    this.#actions.append(theirs, mine);
  }

  /** @param {string} words */
  async #reload(words) {
    this.#entry = null;
    await this.refresh();
    this.#tell(words);
    this.send("tree-changed", this.path);
  }

  /** @param {TreeEntryRecord} entry */
  #showSnapshot({ snapshot }) {
    const tokens = snapshot.reduce((total, one) => total + one.tokens, 0);
    const words = snapshot.length ? `Related passages: ${plural(snapshot.length, "chunk")}, ${plural(tokens, "token")}` : "No related passages";
    const called = names();
    const rows = snapshot.map((one) => {
      const facts = [called[one.role], moment(one.time), `similarity ${one.similarity.toFixed(2)}`].join(" · ");
      return element("li", {}, element("small", { textContent: facts }), element("p", { className: "grave-text", textContent: one.text.trim() }));
    });
    this.#snapshot.replaceChildren(element("summary", { textContent: words }), element("ul", { className: "plain" }, ...rows));
  }

  async #showVersions() {
    const versions = await attempt(() => treeApi.history(this.path));
    if (!versions || !this.#entry) return;
    const rows = versions.map((one) => this.#versionRow(one));
    this.#versions.replaceChildren(element("summary", { textContent: "Versions" }), element("ul", { className: "plain" }, ...rows));
  }

  /** @param {TreeVersion} one */
  #versionRow({ version, time, origin, is_deletion: isDeletion }) {
    const words = `${version} · ${moment(time)} · ${isDeletion ? "deleted" : "saved"} by ${origin}`;
    const row = element("li", { className: "row" }, element("span", { textContent: words }));
    if (isDeletion || version === this.#entry?.version) return row;
    const compare = element("button", { className: "link", textContent: "Compare", "aria-label": `Compare with version ${version}`, onclick: () => this.#compare(version) });
    const back = element("button", { className: "link", textContent: "Restore", "aria-label": `Restore version ${version}`, onclick: () => this.#restore(version) });
    row.append(compare, back);
    return row;
  }

  /** @param {number} version */
  async #compare(version) {
    const earlier = await attempt(() => treeApi.entry(this.path, version));
    if (!earlier || !this.#entry) return;
    const title = element("h4", { textContent: `From version ${version} to version ${this.#entry.version}` });
    this.#diff.replaceChildren(title, diffView(earlier.document, this.#entry.document));
    this.#diff.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} version */
  async #restore(version) {
    try {
      if (!this.#entry) return;
      await treeApi.restore(this.path, version, this.#entry.version);
      await this.#reload(`Version ${version} was restored as a new version.`);
    } catch (error) {
      this.#tell(errorText(error), true);
      if (isConflict(error)) this.#offerWays();
    }
  }

  /** @param {string} text */
  #tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
  }
}

customElements.define("halo-tree-entry", TreeEntry);
