// The message box with its meter, status and buttons. What is typed is kept until it is sent.

import { app } from "./app.js";
import { count, element, seconds } from "./format.js";
import "./meter.js";

class Composer extends HTMLElement {
  #input;
  #send;
  #status;
  #editing = null; // the turn of the question that is being asked in other words

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
    app.model.addEventListener("reset", () => this.#restoreDraft());
    app.model.addEventListener("error", ({ detail }) => app.say(detail, { isError: true, seconds: 20 }));
    app.model.addEventListener("notice", ({ detail }) => app.say(detail));
    app.addEventListener("status", () => this.#show());
    app.addEventListener("lost", () => this.#show("The server does not answer; trying again…"));
    app.addEventListener("connected", () => this.#show());
    app.addEventListener("edit", ({ detail }) => this.#edit(detail));
    app.addEventListener("hand-back", ({ detail }) => this.#put(detail));
    this.#show();
  }

  get #isAnswering() {
    return Boolean(app.model.writing);
  }

  get #draftName() {
    return `halo-draft-${app.windowId}`;
  }

  async #sendMessage() {
    const text = this.#input.value;
    if (!text.trim()) return;
    const { api } = app;
    const turn = this.#editing;
    this.#send.disabled = true;
    const accepted = await app.attempt(() => (turn === null ? api.send(text) : api.edit(turn, text)));
    this.#send.disabled = false;
    if (accepted === undefined) return; // the words stay in the box
    this.#editing = null;
    this.classList.remove("editing");
    this.#put("");
    this.#input.focus();
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.isComposing) {
      event.preventDefault();
      if (!this.#isAnswering) this.#sendMessage();
    } else if (event.key === "ArrowUp" && !this.#input.value) {
      const last = app.model.chunks.filter((chunk) => chunk.role === "user");
      const turn = last[last.length - 1]?.turn;
      if (turn === undefined) return;
      event.preventDefault();
      this.#edit({ turn, text: last.filter((chunk) => chunk.turn === turn).map((chunk) => chunk.text).join("") });
    } else if (event.key === "Escape" && this.#editing !== null) {
      event.stopPropagation();
      this.#editing = null;
      this.classList.remove("editing");
      this.#put("");
    }
  }

  #edit({ turn, text }) {
    this.#editing = turn;
    this.classList.add("editing");
    this.#put(text);
    this.#input.focus();
    app.announce("Editing an earlier message; Escape leaves it as it was.");
  }

  #put(text) {
    this.#input.value = text;
    this.#typed();
  }

  #restoreDraft() {
    this.#input.value = localStorage.getItem(this.#draftName) ?? this.#input.value;
    this.#typed();
  }

  #typed() {
    if (this.#editing === null && app.windowId) localStorage.setItem(this.#draftName, this.#input.value);
    this.#input.style.setProperty("height", "auto");
    this.#input.style.setProperty("height", `${Math.min(this.#input.scrollHeight, window.innerHeight * 0.4)}px`);
  }

  #show(words) {
    this.#send.textContent = this.#isAnswering ? "Stop" : this.#editing === null ? "Send" : "Ask again";
    this.#status.textContent = words ?? this.#statusInWords();
  }

  #statusInWords() {
    const { model, status } = app;
    if (status?.engine && status.engine.state !== "ready") return status.engine.text;
    if (model.info?.queue) return `waiting for the model: ${model.info.queue} before this`;
    if (this.#isAnswering) return model.status;
    const stats = model.info?.stats;
    if (!stats) return "";
    const speed = stats.generated && stats.reply_s > stats.first_token_s ? ` · ${(stats.generated / (stats.reply_s - stats.first_token_s)).toFixed(1)} tokens/s` : "";
    return `read ${count(stats.decoded)} of ${count(stats.context)} tokens this turn · first token ${seconds(stats.first_token_s)}${speed}`;
  }
}

customElements.define("halo-composer", Composer);
