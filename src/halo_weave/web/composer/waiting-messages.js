// The messages that wait until the reply ends; each can be changed or withdrawn until then.

/** @import { PendingMessage } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";

export class WaitingMessages extends Part {
  #list = element("ol", { className: "plain", "aria-label": "Waiting messages" });
  #isEditing = "";

  start() {
    this.replaceChildren(this.#list);
    this.follow(app.model, ["reset", "pending", "status"], () => this.#draw());
    this.follow(app, "window", () => (this.#isEditing = ""));
    this.#draw();
  }

  #draw() {
    const messages = app.model.info?.pending ?? [];
    if (this.#isEditing && messages.some(({ id }) => id === this.#isEditing)) return; // do not take the words away
    this.#isEditing = "";
    this.hidden = !messages.length;
    this.#list.replaceChildren(...messages.map((message, place) => this.#view(message, place)));
  }

  /**
   * @param {PendingMessage} message
   * @param {number} place
   */
  #view(message, place) {
    const isNext = place === 0 && !app.model.isBusy; // nothing sends it by itself, as after an error or a restart
    const state = element("small", { textContent: isNext ? "not sent yet" : "waits for the reply to end" });
    const buttons = [
      action("Edit", () => this.#edit(message, item)),
      action("Withdraw", () => attempt(() => app.api.withdraw(message.id))),
    ];
    if (isNext) buttons.unshift(action("Send now", () => attempt(() => app.api.sendQueued())));
    const item = element("li", { className: "waiting" }, element("p", { textContent: message.text }), state, ...buttons);
    return item;
  }

  /**
   * @param {PendingMessage} message
   * @param {HTMLElement} item
   */
  #edit(message, item) {
    this.#isEditing = message.id;
    const input = element("textarea", { value: message.text, rows: 3, "aria-label": "Waiting message" });
    const end = () => {
      this.#isEditing = "";
      this.#draw();
    };
    const save = async () => {
      await attempt(() => app.api.changeQueued(message.id, input.value));
      end();
    };
    input.onkeydown = (event) => {
      if (event.key === "Escape") {
        event.stopPropagation(); // it would stop the reply
        end();
      } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        save();
      }
    };
    item.replaceChildren(input, action("Save", save), action("Cancel", end));
    input.focus();
  }
}

/**
 * @param {string} textContent
 * @param {() => void} onclick
 */
const action = (textContent, onclick) => element("button", { type: "button", className: "outlined small", textContent, onclick });

customElements.define("halo-waiting-messages", WaitingMessages);
