// The message box with its meter, status and buttons. What is typed is kept until the memory has it.

import { app } from "../shared/app.js";
import { count, element, seconds } from "../shared/format.js";
import "./meter.js";

class Composer extends HTMLElement {
  #input;
  #send;
  #status;
  #editing = null; // the turn and role of the message that gets other words
  #isSending = false;
  #hasWindow = false;
  #sent = null; // by this tab; others share what the browser remembers

  connectedCallback() {
    this.#input = element("textarea", { id: "composer-input", rows: 1, placeholder: "Say something. The past is listening.", "aria-label": "Message" });
    this.#send = element("button", { className: "primary", type: "submit", textContent: "Send" });
    this.#status = element("p", { className: "status quiet" });
    const form = element("form", {}, this.#input, this.#send);
    this.append(element("halo-meter"), this.#status, form);
    form.onsubmit = (event) => {
      event.preventDefault();
      if (this.#isAnswering) app.attempt(() => app.api.stop());
      else this.#sendMessage();
    };
    this.#input.oninput = () => this.#typed();
    this.#input.onkeydown = (event) => this.#key(event);
    for (const type of ["reset", "status", "token", "meta", "chunks", "error"]) app.model.addEventListener(type, () => this.#show());
    for (const type of ["reset", "status", "error"]) app.model.addEventListener(type, () => this.#setSending(false));
    app.model.addEventListener("message", () => this.#arrived());
    app.model.addEventListener("reset", () => this.#lookForSent());
    app.model.addEventListener("error", ({ detail }) => app.say(detail, { isError: true, seconds: 20 }));
    app.model.addEventListener("notice", ({ detail }) => app.say(detail));
    app.addEventListener("status", () => this.#show());
    app.addEventListener("lost", () => this.#show("The server does not answer; trying again…"));
    app.addEventListener("connected", () => this.#show());
    app.addEventListener("window", () => this.#enter());
    app.addEventListener("edit", ({ detail }) => this.#edit(detail));
    app.addEventListener("hand-back", ({ detail }) => this.#put(detail));
    this.#show();
  }

  get #isAnswering() {
    return this.#isSending || app.model.isBusy;
  }

  get #draftName() {
    return `halo-draft-${app.windowId}`;
  }

  // What was typed and not sent, beside what is being edited.
  get #draft() {
    return localStorage.getItem(this.#draftName) ?? "";
  }

  get #sentName() {
    return `halo-sent-${app.windowId}`;
  }

  async #sendMessage() {
    const text = this.#input.value;
    if (!text.trim()) return;
    if (app.model.seen === undefined) return app.say("The window is still being opened; nothing was sent yet.", { isError: true });
    app.showNow();
    const { api } = app;
    const editing = this.#editing;
    if (editing?.role === "assistant") return this.#replaceReply(editing.turn, text);
    this.#sent = text;
    localStorage.setItem(this.#sentName, text);
    this.#setSending(true);
    this.#input.focus();
    const accepted = await app.attempt(() => (editing === null ? api.send(text) : api.edit(editing.turn, text)));
    if (accepted === undefined) this.#setSending(false);
  }

  // The model is not asked, so that there is nothing to wait for.
  async #replaceReply(turn, text) {
    const { windowId } = app;
    const edited = await app.attempt(() => app.api.editReply(turn, text));
    if (edited === undefined || app.windowId !== windowId || this.#editing?.turn !== turn) return;
    this.#leaveEditing();
    this.#put(this.#draft);
    app.announce("The reply has your words.");
  }

  #setSending(isSending) {
    this.#isSending = isSending;
    this.classList.toggle("sending", isSending);
    this.#show();
  }

  // The words leave the box once they are in the memory: a program that ends before that has not got them.
  #arrived() {
    const sent = this.#sent ?? localStorage.getItem(this.#sentName);
    this.#sent = null;
    localStorage.removeItem(this.#sentName);
    this.#setSending(false);
    if (sent === null || this.#input.value !== sent) return;
    const left = this.#editing === null ? "" : this.#draft;
    this.#leaveEditing();
    this.#put(left);
  }

  #leaveEditing() {
    this.#editing = null;
    this.classList.remove("editing");
    this.#show();
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.isComposing) {
      event.preventDefault();
      if (!this.#isAnswering) this.#sendMessage();
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

  #edit({ turn, role, text }) {
    this.#editing = { turn, role };
    this.classList.add("editing");
    this.#show();
    this.#put(text);
    this.#input.focus();
    app.announce(`Editing ${role === "user" ? "an earlier message" : "the reply"}; Escape leaves it as it was.`);
  }

  #put(text) {
    this.#input.value = text;
    this.#typed();
  }

  // What was typed before there was a window is this one's; otherwise the box has the words of the window before.
  #enter() {
    this.#leaveEditing();
    this.#put(this.#draft + (this.#hasWindow ? "" : this.#input.value));
    this.#hasWindow = true;
  }

  #lookForSent() {
    if (this.#editing !== null) return;
    const sent = localStorage.getItem(this.#sentName);
    if (sent !== null && lastQuestion()?.text === sent) this.#arrived();
  }

  #typed() {
    if (this.#editing === null && app.windowId) localStorage.setItem(this.#draftName, this.#input.value);
    this.#input.style.setProperty("height", "auto");
    this.#input.style.setProperty("height", `${Math.min(this.#input.scrollHeight, window.innerHeight * 0.4)}px`);
  }

  #show(words) {
    const label = { user: "Ask again", assistant: "Replace" }[this.#editing?.role] ?? "Send";
    this.#send.textContent = this.#isAnswering ? "Stop" : label;
    this.#status.textContent = words ?? this.#statusInWords();
  }

  #statusInWords() {
    const { model, status } = app;
    if (status?.engine && status.engine.state !== "ready") return status.engine.text;
    if (app.isLost) return "Connecting to this window again…";
    if (model.info?.queue) return `waiting for the model: ${model.info.queue} before this`;
    if (this.#isAnswering) return model.status;
    const stats = model.info?.stats;
    if (stats?.reply_s === undefined) return "";
    const speed = stats.generated && stats.reply_s > stats.first_token_s ? ` · ${(stats.generated / (stats.reply_s - stats.first_token_s)).toFixed(1)} tokens/s` : "";
    return `read ${count(stats.decoded)} of ${count(stats.context)} tokens this turn · first token ${seconds(stats.first_token_s)}${speed}`;
  }
}

function lastQuestion() {
  const own = app.model.chunks.filter((chunk) => chunk.role === "user");
  const turn = own.at(-1)?.turn;
  if (turn === undefined) return null;
  return { turn, role: "user", text: own.filter((chunk) => chunk.turn === turn).map((chunk) => chunk.text).join("") };
}

customElements.define("halo-composer", Composer);
