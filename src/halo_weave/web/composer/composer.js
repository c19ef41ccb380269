// The message box with its meter, status and buttons. The text is kept until the memory has it.

/** @import { EditedMessage } from "../shared/events.js" */
/** @import { Role } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count, seconds } from "../shared/format.js";
import { announce, attempt, say } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { setRecall } from "../windows/recall.js";
import { Attachments } from "./attachments.js";
import { keep, kept } from "./drafts.js";
import { Meter } from "./meter.js";
import { withFiles } from "./text-file.js";
import { WaitingMessages } from "./waiting-messages.js";

/** @type {Partial<Record<Role, string>>} */
const EDIT_LABELS = { user: "Send again", assistant: "Replace" };
const PLACEHOLDER = matchMedia("(max-width: 720px)").matches ? "Message …" : "Message … (Enter to send)";

export class Composer extends Part {
  #input = element("textarea", { id: "composer-input", rows: 1, placeholder: PLACEHOLDER, "aria-label": "Message" });
  #send = element("button", { className: "primary", type: "submit", textContent: "Send" });
  #queue = element("button", { className: "outlined", type: "button", textContent: "Queue", title: "Send this when the reply ends (Enter)", hidden: true });
  #status = element("p", { className: "status quiet" });
  #reading = element("progress", { hidden: true, "aria-label": "Reading" });
  #recall = element("button", { className: "recall", type: "button", role: "switch", textContent: "Recall", title: "Whether earlier conversations return by themselves in this window", "aria-checked": "true" });
  #notes = element("button", { className: "window-notes", type: "button", id: "open-window-notes", textContent: "Notes", title: "Notes that are always in context, and presets" });
  #attachments = new Attachments();
  #attach = element("button", { className: "icon-button attach", type: "button", textContent: "+", title: "Attach text files; you can also drop or paste them", "aria-label": "Attach text files" });
  #form = element("form", {}, this.#attach, this.#input, this.#queue, this.#send);
  /** @type {{ turn: string, role: Role } | null} */
  #editing = null; // the message that is being rewritten
  #isSending = false;
  #hasWindow = false;
  /** @type {string | null} */
  #sent = null; // by this tab; other tabs share what the browser remembers

  start() {
    const head = element("div", { className: "composer-head" }, this.#recall, this.#notes, this.#status);
    this.replaceChildren(new Meter(), this.#reading, head, new WaitingMessages(), this.#attachments, this.#form);
    this.#attach.onclick = () => this.#attachments.choose();
    this.#queue.onclick = () => this.#queueMessage();
    this.#recall.onclick = () => setRecall(!app.model.info?.recalls);
    this.hear("attached", () => this.#show());
    this.#input.onpaste = (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.#attachments.take(event.clipboardData.files);
    };
    this.#form.onsubmit = (event) => {
      event.preventDefault();
      if (this.#isAnswering) attempt(() => app.api.stop());
      else this.#sendMessage();
    };
    this.#input.oninput = () => this.#typed();
    this.#input.onkeydown = (event) => this.#key(event);
    this.follow(app.model, ["reset", "status", "token", "meta", "chunks", "error"], () => this.#show());
    this.follow(app.model, ["reset", "status", "error"], () => this.#setSending(false));
    this.follow(app.model, "message", () => this.#arrived());
    this.follow(app.model, "reset", () => this.#lookForSent());
    this.follow(app.model, "error", (text) => say(text, { isError: true, seconds: 20 }));
    this.follow(app.model, "notice", (text) => say(text));
    this.follow(app.program, "status", () => this.#show());
    this.follow(app, "lost", () => this.#show("The server is not responding. Trying again…"));
    this.follow(app, "connected", () => this.#show());
    this.follow(app, "window", () => this.#enter());
    this.follow(app, "edit", (message) => this.#edit(message));
    this.follow(app, "hand-back", (text) => this.#put(text));
    this.#show();
  }

  get #isAnswering() {
    return this.#isSending || app.model.isBusy;
  }

  // The text that was typed but not sent, apart from the message that is being edited.
  get #draft() {
    return kept("draft", app.windowId) ?? "";
  }

  get #message() {
    return withFiles(this.#attachments.files, this.#input.value);
  }

  // While a reply is written; it goes out when the reply ends.
  async #queueMessage() {
    const text = this.#message;
    if (!text.trim() || this.#editing !== null || (this.#isSending && text === this.#sent)) return;
    const { windowId } = app;
    const queued = await attempt(() => app.api.queue(text));
    if (queued === undefined || app.windowId !== windowId || this.#message !== text) return;
    this.#attachments.clear();
    this.#put("");
    this.#input.focus();
    announce("The message waits until the reply ends.");
  }

  async #sendMessage() {
    const text = this.#message;
    if (!text.trim()) return;
    if (app.model.seen === undefined) return say("The window is still opening. Nothing was sent; try again in a moment.", { isError: true });
    app.showNow();
    const { api } = app;
    const editing = this.#editing;
    if (editing?.role === "assistant") return this.#replaceReply(editing.turn, text);
    this.#sent = text;
    keep("sent", app.windowId, text);
    this.#setSending(true);
    this.#input.focus();
    const accepted = await attempt(() => (editing === null ? api.send(text) : api.edit(editing.turn, text)));
    if (accepted === undefined) this.#setSending(false);
  }

  /**
   * The model is not asked, so there is nothing to wait for.
   * @param {string} turn
   * @param {string} text
   */
  async #replaceReply(turn, text) {
    const { windowId } = app;
    const edited = await attempt(() => app.api.editReply(turn, text));
    if (edited === undefined || app.windowId !== windowId || this.#editing?.turn !== turn) return;
    this.#leaveEditing();
    this.#put(this.#draft);
    announce("The reply was replaced.");
  }

  /** @param {boolean} isSending */
  #setSending(isSending) {
    this.#isSending = isSending;
    this.classList.toggle("sending", isSending);
    this.#show();
  }

  // The text leaves the box once it is in the memory: a program that ends before has lost it.
  #arrived() {
    const sent = this.#sent ?? kept("sent", app.windowId);
    this.#sent = null;
    keep("sent", app.windowId, null);
    this.#setSending(false);
    const typed = this.#input.value;
    if (sent === null || (typed !== sent && !sent.endsWith(`\n\n${typed}`) && this.#message !== sent)) return;
    this.#attachments.clear();
    const left = this.#editing === null ? "" : this.#draft;
    this.#leaveEditing();
    this.#put(left);
  }

  #leaveEditing() {
    this.#editing = null;
    this.classList.remove("editing");
    this.#show();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.isComposing) {
      event.preventDefault();
      if (this.#isAnswering) this.#queueMessage();
      else this.#sendMessage();
    } else if (event.key === "ArrowUp" && !this.#input.value) {
      const question = lastQuestion();
      if (!question) return;
      event.preventDefault();
      this.#edit(question);
    } else if (event.key === "Escape" && this.#editing !== null) {
      event.stopPropagation();
      this.#leaveEditing();
      this.#put(this.#draft);
    }
  }

  /** @param {EditedMessage} message */
  #edit({ turn, role, text }) {
    this.#editing = { turn, role };
    this.classList.add("editing");
    this.#show();
    this.#put(text);
    this.#input.focus();
    announce(`Editing ${role === "user" ? "an earlier message" : "the reply"}. Escape cancels.`);
  }

  /** @param {string} text */
  #put(text) {
    this.#input.value = text;
    this.#typed();
  }

  // Text typed before any window was open belongs to the first one; later the box holds the previous window's text.
  #enter() {
    this.#leaveEditing();
    if (this.#hasWindow) this.#attachments.clear();
    this.#put(this.#draft + (this.#hasWindow ? "" : this.#input.value));
    this.#hasWindow = true;
  }

  #lookForSent() {
    if (this.#editing !== null) return;
    const sent = kept("sent", app.windowId);
    if (sent !== null && lastQuestion()?.text === sent) this.#arrived();
  }

  #typed() {
    if (this.#editing === null && app.windowId) keep("draft", app.windowId, this.#input.value);
    this.#showQueue();
    this.#input.style.setProperty("height", "auto");
    this.#input.style.setProperty("height", `${Math.min(this.#input.scrollHeight, window.innerHeight * 0.4)}px`);
  }

  /** @param {string} [text] in place of the status */
  #show(text) {
    const label = (this.#editing && EDIT_LABELS[this.#editing.role]) ?? "Send";
    this.#send.textContent = this.#isAnswering ? "Stop" : label;
    this.#status.textContent = text ?? this.#statusInWords();
    const { reading } = app.model;
    this.#reading.hidden = !reading;
    if (reading) Object.assign(this.#reading, { max: reading.total, value: reading.read });
    this.#recall.setAttribute("aria-checked", String(app.model.info?.recalls ?? true));
    this.#showQueue();
  }

  #showQueue() {
    this.#queue.hidden = !this.#isAnswering || this.#isSending || this.#editing !== null || !this.#message.trim();
  }

  #statusInWords() {
    const { model, program } = app;
    if (program.status && program.status.engine.state !== "ready") return program.status.engine.text;
    if (app.isLost) return "Reconnecting to this window…";
    if (model.info?.queue) return `waiting for the model: ${model.info.queue} ahead`;
    if (this.#isAnswering) return model.status;
    const { reply_s: replySeconds, first_token_s: firstSeconds, generated = 0, decoded = 0, context = 0 } = model.info?.stats ?? {};
    if (replySeconds === undefined || firstSeconds === undefined) return "";
    const speed = generated && replySeconds > firstSeconds ? ` · ${(generated / (replySeconds - firstSeconds)).toFixed(1)} tokens/s` : "";
    return `processed ${count(decoded)} of ${count(context)} tokens · first token after ${seconds(firstSeconds)}${speed}`;
  }
}

/** @returns {EditedMessage | null} */
function lastQuestion() {
  const own = app.model.chunks.filter((chunk) => chunk.role === "user");
  const turn = own.at(-1)?.turn;
  if (turn === undefined) return null;
  return { turn, role: "user", text: own.filter((chunk) => chunk.turn === turn).map((chunk) => chunk.text).join("") };
}

customElements.define("halo-composer", Composer);
