// Short messages to the person, on the page and for a screen reader.

import { element, find } from "./element.js";
import { Part } from "./part.js";
import { errorText } from "./request.js";

/** @typedef {{ label: string, run: () => void }} Action a button in a message */

export class Toast extends Part {
  #text;
  #isError;
  #action;
  #until;

  /**
   * @param {string} [text]
   * @param {{ isError?: boolean, action?: Action | null, seconds?: number }} [options]
   */
  constructor(text = "", { isError = false, action = null, seconds = 8 } = {}) {
    super();
    this.#text = text;
    this.#isError = isError;
    this.#action = action;
    this.#until = Date.now() + 1000 * seconds;
  }

  start() {
    this.className = this.#isError ? "toast error" : "toast";
    const close = element("button", { textContent: "×", "aria-label": "Dismiss", onclick: () => this.remove() });
    this.replaceChildren(element("p", { textContent: this.#text }), ...this.#buttons(), close);
    this.later(this.#until - Date.now(), () => this.remove()); // it moves along when a dialog is opened or closed
  }

  #buttons() {
    const action = this.#action;
    if (!action) return [];
    const button = element("button", { className: "outlined", textContent: action.label });
    button.onclick = () => {
      this.remove();
      action.run();
    };
    return [button];
  }
}

customElements.define("halo-toast", Toast);

/**
 * @param {string} text
 * @param {{ isError?: boolean, action?: Action | null, seconds?: number }} [options]
 */
export function say(text, options) {
  find(document, "#toasts", HTMLElement).append(new Toast(text, options));
  announce(text);
}

/**
 * For a screen reader; the transcript itself is no live region.
 * @param {string} text
 */
export function announce(text) {
  find(document, "#announcer", HTMLElement).textContent = text;
}

/**
 * Do something that may be refused; the server's sentence is shown then, and the result is undefined.
 * @template Result
 * @param {() => Promise<Result>} action
 * @returns {Promise<Result | undefined>}
 */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    say(errorText(error), { isError: true });
    return undefined;
  }
}
