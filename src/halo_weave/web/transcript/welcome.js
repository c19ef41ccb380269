// What an empty window shows: what this is, messages to begin with, and the way to another model.

import { openDialog } from "../dialogs/dialogs.js";
import { app } from "../shared/app.js";
import { element, find } from "../shared/element.js";
import { Part } from "../shared/part.js";

const IDEA = "Write a message to begin. Everything that is said stays in the memory, word for word, and returns when you need it, in this window or any other.";
const PRIVATE_IDEA = "Write a message to begin. The model knows what the memory holds, but nothing that is said here is added to it.";
const TERMS = [
  ["Window", "one conversation. Each has its own context; all of them share one memory."],
  ["Graveyard", "what left this window's context because it was full. Nothing in it is lost, and a message that needs it brings it back."],
];
const BUNDLED = "The bundled model is very small and often wrong.";
const TO_TELL = [
  "My sister Mia has her birthday on the 9th, and she likes pottery and smoked tea.",
  "Please remember: I cook for two, without mushrooms, in less than half an hour.",
  "We decided today that the ferry app will be dark blue, with orange for warnings alone.",
];
const TO_ASK = ["What do you know about me?", "What did we decide, and when?"];

export class Welcome extends Part {
  #idea = element("p");
  #examples = element("ul", { className: "plain examples" });
  #lead = element("p", { className: "quiet" });
  #bundled = element("p", { className: "quiet" });

  start() {
    this.className = "welcome";
    const choose = element("button", { className: "outlined", textContent: "Choose a model", onclick: () => openDialog("engine") });
    this.replaceChildren(
      element("h2", { textContent: "One conversation that never ends" }),
      this.#idea,
      this.#lead,
      this.#examples,
      element("dl", { className: "terms" }, ...TERMS.flatMap(([term, meaning]) => [element("dt", { textContent: term }), element("dd", { textContent: meaning })])),
      element("div", { className: "welcome-model" }, choose, this.#bundled),
    );
    this.follow(app.program, ["status", "windows"], () => this.#draw());
    this.follow(app, "window", () => this.#draw());
    this.follow(app.model, "reset", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const { status, windows } = app.program;
    this.#idea.textContent = app.model.info?.is_private ? PRIVATE_IDEA : IDEA;
    this.#bundled.textContent = status?.engine.is_bundled ? BUNDLED : "";
    const hasPast = (status?.memory.chunks ?? 0) > (status?.memory.deleted ?? 0);
    this.#lead.textContent = hasPast ? "Ask about the past, for example:" : "Tell it something worth remembering, for example:";
    const texts = hasPast ? questions(windows.filter(({ id, messages }) => id !== app.windowId && messages > 0).map(({ name }) => name)) : TO_TELL;
    if (this.#examples.textContent === texts.join("")) return; // keeps the focus
    this.#examples.replaceChildren(...texts.map((text) => element("li", {}, element("button", { className: "outlined example", textContent: text, onclick: () => take(text) }))));
  }
}

/**
 * Three questions; one names the window that was used last, if there is another window.
 * @param {string[]} names
 */
function questions([name]) {
  return [name ? `What did we last talk about in “${name}”?` : "What did I tell you first?", ...TO_ASK];
}

/**
 * Put an example into the message box, to be changed or sent.
 * @param {string} text
 */
function take(text) {
  app.emit("hand-back", text);
  find(document, "#composer-input", HTMLTextAreaElement).focus();
}

customElements.define("halo-welcome", Welcome);

const view = new Welcome();

/** The same element each time, so that drawing the conversation again does not take the focus. */
export const welcome = () => view;
