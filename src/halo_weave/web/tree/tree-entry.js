// One entry of the memory tree: its content to edit, what was said about it, and its versions.

import { app } from "../shared/app.js";
import { get, post, putText } from "../shared/api.js";
import { element, moment, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { changed, deleteEntries } from "./tree-deleting.js";
import { diffView } from "./tree-diff.js";

const CONFLICT = 409;

export class TreeEntry extends Part {
  #entry = null;
  #hasMoreUnder;
  #facts = element("p", { className: "quiet" });
  #note = element("p", { role: "status" });
  #actions = element("div", { className: "row" });
  #editor = element("textarea", { className: "field mono", rows: 10, spellcheck: false, "aria-label": "Content, as JSON" });
  #snapshot = element("details", { className: "tree-part" });
  #versions = element("details", { className: "tree-part" });
  #diff = element("div");

  // `hasMoreUnder` tells whether there are entries under it.
  constructor(path, hasMoreUnder) {
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

  // What was typed and not saved stays; that somebody else was here meanwhile is said.
  async refresh() {
    try {
      const entry = await get(`/api/tree/entry?${new URLSearchParams({ path: this.path })}`);
      if (entry.version === this.#entry?.version) return;
      if (this.#isChanged()) this.#tell(`Somebody saved version ${entry.version} meanwhile.`, true);
      else this.#show(entry);
    } catch (error) {
      this.#tell(error.message, true);
    }
  }

  #show(entry) {
    this.#entry = entry;
    this.#editor.value = entry.document;
    this.#facts.textContent = [`version ${entry.version}`, `saved ${moment(entry.modified)}`, `first ${moment(entry.created)}`, `read ${moment(entry.accessed)}`].join(" · ");
    this.#diff.replaceChildren();
    this.#check();
    this.#showSnapshot();
    if (this.#versions.open) this.#showVersions();
    else this.#versions.replaceChildren(element("summary", { textContent: "Versions" }));
  }

  #isChanged() {
    return this.#entry !== null && this.#editor.value !== this.#entry.document;
  }

  #check() {
    const problem = problemIn(this.#editor.value);
    this.#editor.setAttribute("aria-invalid", String(Boolean(problem)));
    this.#tell(problem, true);
    const save = element("button", { className: "primary small", textContent: "Save", disabled: Boolean(problem) || !this.#isChanged(), onclick: () => this.#save(this.#entry.version) });
    const remove = element("button", { className: "outlined small danger", textContent: "Delete", onclick: () => deleteEntries(this, this.path, false) });
    const branch = element("button", { className: "outlined small danger", textContent: "Delete with all under it", onclick: () => deleteEntries(this, this.path, true) });
    this.#actions.replaceChildren(save, remove, ...(this.#hasMoreUnder() ? [branch] : []));
  }

  async #save(expected) {
    if (problemIn(this.#editor.value)) return;
    try {
      await save(this.path, this.#editor.value, expected);
      await this.#reload("Saved.");
    } catch (error) {
      this.#tell(error.message, true);
      if (error.status === CONFLICT) this.#offerWays();
    }
  }

  #offerWays() {
    const theirs = element("button", { className: "outlined small", textContent: "Show what is there now", onclick: () => this.#reload("") });
    const mine = element("button", { className: "outlined small", textContent: "Save mine over it", onclick: () => this.#save(null) });
    this.#actions.append(theirs, mine);
  }

  async #reload(words) {
    this.#entry = null;
    await this.refresh();
    this.#tell(words);
    changed(this, this.path);
  }

  #showSnapshot() {
    const { snapshot } = this.#entry;
    const tokens = snapshot.reduce((total, one) => total + one.tokens, 0);
    const words = snapshot.length ? `What was said about it: ${plural(snapshot.length, "chunk")}, ${plural(tokens, "token")}` : "Nothing that was said goes with it";
    const called = names();
    const rows = snapshot.map((one) => {
      const facts = [called[one.role], moment(one.time), `similarity ${one.similarity.toFixed(2)}`].join(" · ");
      return element("li", {}, element("small", { textContent: facts }), element("p", { className: "grave-text", textContent: one.text.trim() }));
    });
    this.#snapshot.replaceChildren(element("summary", { textContent: words }), element("ul", { className: "plain" }, ...rows));
  }

  async #showVersions() {
    const versions = await app.attempt(() => get(`/api/tree/history?${new URLSearchParams({ path: this.path })}`));
    if (!versions || !this.#entry) return;
    const rows = versions.map((one) => this.#versionRow(one));
    this.#versions.replaceChildren(element("summary", { textContent: "Versions" }), element("ul", { className: "plain" }, ...rows));
  }

  #versionRow({ version, time, origin, is_deletion: isDeletion }) {
    const words = `${version} · ${moment(time)} · ${isDeletion ? "deleted" : "saved"} by ${origin}`;
    const row = element("li", { className: "row" }, element("span", { textContent: words }));
    if (isDeletion || version === this.#entry.version) return row;
    const compare = element("button", { className: "link", textContent: "Compare", "aria-label": `Compare with version ${version}`, onclick: () => this.#compare(version) });
    const back = element("button", { className: "link", textContent: "Restore", "aria-label": `Restore version ${version}`, onclick: () => this.#restore(version) });
    row.append(compare, back);
    return row;
  }

  async #compare(version) {
    const query = new URLSearchParams({ path: this.path, version });
    const earlier = await app.attempt(() => get(`/api/tree/entry?${query}`));
    if (!earlier) return;
    const title = element("h4", { textContent: `From version ${version} to version ${this.#entry.version}` });
    this.#diff.replaceChildren(title, diffView(earlier.document, this.#entry.document));
    this.#diff.scrollIntoView({ block: "nearest" });
  }

  async #restore(version) {
    try {
      await post("/api/tree/restore", { path: this.path, version, expected_version: this.#entry.version });
      await this.#reload(`Version ${version} is back as a new one.`);
    } catch (error) {
      this.#tell(error.message, true);
      if (error.status === CONFLICT) this.#offerWays();
    }
  }

  #tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
  }
}

// A form for an entry that is not there yet; `saved` gets its path.
export function newEntry(saved) {
  const path = element("input", { className: "field", placeholder: "Project/Goals", "aria-label": "Path", autocomplete: "off", spellcheck: false });
  const editor = element("textarea", { className: "field mono", rows: 10, spellcheck: false, "aria-label": "Content, as JSON", value: "{\n  \n}" });
  const note = element("p", { role: "status", className: "problem" });
  const button = element("button", { className: "primary small", textContent: "Save" });
  const check = () => {
    note.textContent = path.value.trim() ? problemIn(editor.value) : "";
    button.disabled = !path.value.trim() || Boolean(problemIn(editor.value));
  };
  path.oninput = editor.oninput = check;
  button.onclick = async () => {
    try {
      saved((await save(path.value, editor.value, 0)).path);
    } catch (error) {
      note.textContent = error.message;
    }
  };
  check();
  return element("div", { className: "tree-new" }, element("h3", { textContent: "New entry" }), path, editor, note, element("div", { className: "row" }, button));
}

// The text goes as it is, since numbers may have more digits here than JavaScript keeps.
const save = (path, text, expected) => putText("/api/tree/entry", `{"path":${JSON.stringify(path.toWellFormed())},"expected_version":${JSON.stringify(expected)},"content":${text.toWellFormed()}}`);

function problemIn(text) {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not JSON yet: ${error.message}.`;
  }
}

customElements.define("halo-tree-entry", TreeEntry);
