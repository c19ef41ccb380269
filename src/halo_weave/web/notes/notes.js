// The notes: one document, text or JSON, that the person and the model share. It can be edited, undone, exported and imported.

/** @import { NotesRecord, NotesSaved } from "../shared/records.js" */
import { notesApi } from "../shared/api.js";
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { jsonProblem } from "../shared/json-problem.js";
import { say } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { isPlainText } from "../shared/plain-text.js";
import { errorText, isConflict } from "../shared/request.js";
import { pause } from "../shared/waiting.js";
import { NotesHistory } from "./notes-history.js";

const LOOK_AGAIN_MS = 2500; // the model and other programs write notes as well
const DOWNLOAD_MS = 60_000;
const NOBODY = "The notes are empty. You and the model can write here: facts that must always be available.";

/** @type {{ text: string, version: number } | null} */
let draft = null; // unsaved text, kept while the dialog is closed

export class Notes extends Part {
  /** @type {NotesRecord | null} */
  #notes = null; // as they are saved
  #isOutdated = false;
  #about = element("p", { className: "quiet notes-about" });
  #editor = element("textarea", { className: "field mono notes-editor", spellcheck: false, autocapitalize: "off", disabled: true, placeholder: "Plain text, or one JSON object", "aria-label": "Notes, as text or JSON", "aria-describedby": "notes-note" });
  #note = element("p", { id: "notes-note", role: "status", className: "notes-note" });
  #save = element("button", { className: "primary", textContent: "Save", disabled: true, title: "Ctrl S" });
  #discard = element("button", { className: "outlined", textContent: "Discard", hidden: true, title: "Go back to the saved version" });
  #undo = element("button", { className: "outlined", textContent: "Undo", disabled: true, title: "Undo the last saved change" });
  #export = element("button", { className: "outlined", textContent: "Export" });
  #picker = element("input", { type: "file", accept: ".json,application/json", className: "unseen", tabIndex: -1, "aria-label": "Notes to import" });
  #history = new NotesHistory();

  start() {
    const bring = element("button", { className: "outlined", textContent: "Import", onclick: () => this.#picker.click(), title: "Load a file into the editor; nothing is saved until you press Save" });
    const buttons = element("div", { className: "row" }, this.#save, this.#discard, this.#undo, this.#export, bring, this.#picker);
    this.replaceChildren(this.#about, this.#editor, this.#note, buttons, this.#history);
    this.#editor.oninput = this.settled(150, () => this.#typed());
    this.#save.onclick = () => this.#saveText();
    this.#discard.onclick = () => this.#load({ keepsDraft: false });
    this.#undo.onclick = () => this.#change((version) => notesApi.undo(version));
    this.#export.onclick = () => this.#notes && download(this.#notes.document);
    this.#picker.onchange = () => this.#import(this.#picker.files?.[0]);
    this.listen(this, "keydown", (event) => this.#key(event));
    this.hear("restore-notes", (version) => this.#restore(version));
    this.#load({ keepsDraft: true });
    this.every(LOOK_AGAIN_MS, () => this.#lookAgain());
  }

  end() {
    if (!this.#editor.disabled) this.#keepDraft();
  }

  get #isChanged() {
    return this.#notes !== null && this.#editor.value !== shown(this.#notes);
  }

  /** @param {{ keepsDraft: boolean }} options */
  async #load({ keepsDraft }) {
    try {
      const notes = await notesApi.read();
      this.#notes = notes;
      if (!keepsDraft) draft = null;
      this.#isOutdated = draft !== null && draft.version !== notes.version;
      this.#editor.value = draft?.text ?? shown(notes);
      this.#editor.disabled = false;
      this.#history.version = notes.version;
      this.#typed();
    } catch (error) {
      this.#tell(errorText(error));
    }
  }

  #keepDraft() {
    if (this.#notes) draft = this.#isChanged ? { text: this.#editor.value, version: draft?.version ?? this.#notes.version } : null;
  }

  #typed() {
    this.#keepDraft();
    this.#draw();
  }

  #draw() {
    if (!this.#notes) return;
    const { version, time, origin } = this.#notes;
    this.#about.textContent = time ? `Version ${version} · ${moment(time)} · ${origin}` : NOBODY;
    const wrong = this.#isChanged ? problemOf(this.#editor.value) : "";
    this.#editor.setAttribute("aria-invalid", String(Boolean(wrong)));
    this.#save.disabled = Boolean(wrong) || !this.#isChanged;
    this.#discard.hidden = !this.#isChanged;
    this.#undo.disabled = !version || this.#isChanged;
    if (this.#isOutdated && this.#isChanged) this.#tellOutdated(this.#notes);
    else this.#tell(wrong);
  }

  /**
   * @param {string} text
   * @param {...(HTMLElement | string)} buttons
   */
  #tell(text, ...buttons) {
    this.#note.classList.add("problem");
    this.#note.replaceChildren(text, ...buttons);
  }

  /** @param {NotesRecord} notes */
  #tellOutdated({ version, origin }) {
    const mine = element("button", { className: "link", textContent: "Overwrite with mine", onclick: () => this.#saveText(version) });
    const theirs = element("button", { className: "link", textContent: "Discard mine", onclick: () => this.#load({ keepsDraft: false }) });
    this.#tell(`The notes were changed in the meantime by ${origin}. `, mine, " ", theirs);
  }

  async #saveText(version = draft?.version ?? this.#notes?.version) {
    const document = this.#editor.value;
    if (version === undefined || !this.#isChanged || problemOf(document)) return;
    try {
      await this.#done(await notesApi.save(document, version));
    } catch (error) {
      if (isConflict(error)) await this.#load({ keepsDraft: true });
      else this.#tell(errorText(error));
    }
  }

  /** @param {number} restored */
  #restore(restored) {
    if (this.#isChanged) say("Save or discard your changes first.", { isError: true });
    else this.#change((version) => notesApi.restore(restored, version));
  }

  /** @param {(version: number) => Promise<NotesSaved>} action is given the present version */
  async #change(action) {
    if (!this.#notes) return;
    try {
      await this.#done(await action(this.#notes.version));
    } catch (error) {
      say(errorText(error), { isError: true });
      if (isConflict(error)) await this.#load({ keepsDraft: true });
    }
  }

  /** @param {NotesSaved} saved */
  async #done({ version, text }) {
    await this.#load({ keepsDraft: false });
    this.#note.classList.remove("problem");
    this.#note.textContent = `Saved as version ${version}: ${text}`;
  }

  async #lookAgain() {
    const [newest] = await notesApi.history(1).catch(() => []);
    if (!newest || !this.#notes || !this.isConnected || newest.version === this.#notes.version) return;
    this.#keepDraft();
    this.#load({ keepsDraft: true });
  }

  /** @param {File | undefined} file */
  async #import(file) {
    this.#picker.value = "";
    if (!file) return;
    this.#editor.value = await file.text();
    this.#typed();
    this.#editor.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    this.#typed();
    this.#saveText();
  }
}

/**
 * As they are edited: plain text as it is, and nothing before anything was written.
 * @param {NotesRecord} notes
 */
const shown = ({ version, text, document }) => (version ? text ?? document : "");

/**
 * In a sentence; empty if it can be saved. Numbers are sent as they are written, so nothing but this is parsed.
 * @param {string} text
 */
function problemOf(text) {
  if (isPlainText(text)) return "";
  return jsonProblem(text) || (text.trim().startsWith("{") ? "" : "Notes are plain text, or one JSON object in braces.");
}

/** @param {string} text */
function download(text) {
  const href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" }));
  element("a", { href, download: "notes.json" }).click();
  pause(DOWNLOAD_MS).then(() => URL.revokeObjectURL(href)); // the browser may still need it after the dialog is closed
}

customElements.define("halo-notes", Notes);
