// The notes: one JSON document that the person and the model share, to read, change, take back and carry along.

import { get, post, put } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element, moment } from "../shared/format.js";
import { Part, settled } from "../shared/part.js";
import "./notes-history.js";

const LOOK_AGAIN_MS = 2500; // the model and other programs write in them as well
const NOBODY = "Nobody has written here yet. You and the model can: facts that should not depend on being remembered.";

let draft = null; // {text, version}: what was typed and not saved, kept while the dialog is closed

class Notes extends Part {
  #notes = null; // as they are saved
  #isOutdated = false;
  #timer = 0;
  #about = element("p", { className: "quiet notes-about" });
  #editor = element("textarea", { className: "field mono notes-editor", spellcheck: false, autocapitalize: "off", disabled: true, "aria-label": "Notes as JSON", "aria-describedby": "notes-note" });
  #note = element("p", { id: "notes-note", role: "status", className: "notes-note" });
  #save = element("button", { className: "primary", textContent: "Save", disabled: true, title: "Ctrl S" });
  #discard = element("button", { className: "outlined", textContent: "Discard", hidden: true, title: "Go back to what is saved" });
  #undo = element("button", { className: "outlined", textContent: "Undo", disabled: true, title: "Take the last saved change back" });
  #export = element("button", { className: "outlined", textContent: "Export" });
  #picker = element("input", { type: "file", accept: ".json,application/json", className: "unseen", tabIndex: -1, "aria-label": "Notes to import" });
  #history = element("halo-notes-history");

  start() {
    const bring = element("button", { className: "outlined", textContent: "Import", onclick: () => this.#picker.click(), title: "Load a file into the editor; it is saved when you say so" });
    const buttons = element("div", { className: "row" }, this.#save, this.#discard, this.#undo, this.#export, bring, this.#picker);
    this.replaceChildren(this.#about, this.#editor, this.#note, buttons, this.#history);
    this.#editor.oninput = settled(150, () => this.#typed());
    this.#save.onclick = () => this.#saveText();
    this.#discard.onclick = () => this.#load({ keepsDraft: false });
    this.#undo.onclick = () => this.#change("/api/notes/undo", { version: this.#notes.version });
    this.#export.onclick = () => download(this.#notes.document);
    this.#picker.onchange = () => this.#import(this.#picker.files[0]);
    this.follow(this, "keydown", (event) => this.#key(event));
    this.follow(this, "restore-notes", ({ detail }) => this.#restore(detail));
    this.#load({ keepsDraft: true });
    this.#timer = setInterval(() => this.#lookAgain(), LOOK_AGAIN_MS);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    if (!this.#editor.disabled) this.#keepDraft();
    super.disconnectedCallback();
  }

  get #isChanged() {
    return this.#editor.value !== this.#notes.document;
  }

  async #load({ keepsDraft }) {
    try {
      this.#notes = await get("/api/notes");
    } catch (error) {
      this.#tell(error.message);
      return;
    }
    if (!keepsDraft) draft = null;
    this.#isOutdated = draft !== null && draft.version !== this.#notes.version;
    this.#editor.value = draft?.text ?? this.#notes.document;
    this.#editor.disabled = false;
    this.#history.version = this.#notes.version;
    this.#typed();
  }

  #keepDraft() {
    draft = this.#isChanged ? { text: this.#editor.value, version: draft?.version ?? this.#notes.version } : null;
  }

  #typed() {
    if (!this.#notes) return;
    this.#keepDraft();
    this.#draw();
  }

  #draw() {
    const { version, time, origin } = this.#notes;
    this.#about.textContent = version ? `Version ${version} · ${moment(time)} · ${origin}` : NOBODY;
    const wrong = problemOf(this.#editor.value);
    this.#editor.setAttribute("aria-invalid", String(Boolean(wrong)));
    this.#save.disabled = Boolean(wrong) || !this.#isChanged;
    this.#discard.hidden = !this.#isChanged;
    this.#undo.disabled = !version || this.#isChanged;
    if (this.#isOutdated && this.#isChanged) this.#tellOutdated();
    else this.#tell(wrong);
  }

  #tell(text, ...buttons) {
    this.#note.classList.add("problem");
    this.#note.replaceChildren(text, ...buttons);
  }

  #tellOutdated() {
    const mine = element("button", { className: "link", textContent: "Save mine over them", onclick: () => this.#saveText(this.#notes.version) });
    const theirs = element("button", { className: "link", textContent: "Discard mine", onclick: () => this.#load({ keepsDraft: false }) });
    this.#tell(`The notes were changed meanwhile, by ${this.#notes.origin}. `, mine, " ", theirs);
  }

  async #saveText(version = draft?.version ?? this.#notes.version) {
    const document = this.#editor.value;
    if (!this.#isChanged || problemOf(document)) return;
    try {
      this.#done(await put("/api/notes", { document, version }));
    } catch (error) {
      if (error.status === 409) await this.#load({ keepsDraft: true });
      else this.#tell(error.message);
    }
  }

  #restore(version) {
    if (this.#isChanged) app.say("Save or discard what you typed first.", { isError: true });
    else this.#change("/api/notes/restore", { restore: version, version: this.#notes.version });
  }

  async #change(path, body) {
    try {
      this.#done(await post(path, body));
    } catch (error) {
      app.say(error.message, { isError: true });
      if (error.status === 409) await this.#load({ keepsDraft: true });
    }
  }

  async #done({ version, text }) {
    await this.#load({ keepsDraft: false });
    this.#note.classList.remove("problem");
    this.#note.textContent = `Saved as version ${version}: ${text}`;
  }

  async #lookAgain() {
    const [newest] = await get("/api/notes/history?limit=1").catch(() => []);
    if (!newest || !this.#notes || !this.isConnected || newest.version === this.#notes.version) return;
    this.#keepDraft();
    this.#load({ keepsDraft: true });
  }

  async #import(file) {
    this.#picker.value = "";
    if (!file) return;
    this.#editor.value = await file.text();
    this.#typed();
    this.#editor.focus();
  }

  #key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    this.#typed();
    this.#saveText();
  }
}

// In a sentence; empty if it can be saved. Numbers are sent as they are written, so nothing but this is made of it.
function problemOf(text) {
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? "" : "Notes are one JSON object, in braces.";
  } catch (error) {
    return `This is no JSON yet: ${error.message}.`;
  }
}

function download(text) {
  const href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" }));
  element("a", { href, download: "notes.json" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

customElements.define("halo-notes", Notes);
