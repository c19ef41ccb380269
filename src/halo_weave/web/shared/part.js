// What every element of the page derives from. A Part owns its listeners, subscriptions, timers and observers, and ends
// all of them when it leaves the document.

/** @import { Emitter } from "./emitter.js" */
/** @import { ElementEvents } from "./events.js" */

export class Part extends HTMLElement {
  /** @type {AbortController | null} */
  #life = null;
  /** @type {Set<number>} */
  #timers = new Set();
  /** @type {Set<number>} */
  #frames = new Set();
  /** @type {{ disconnect(): void }[]} */
  #observers = [];

  connectedCallback() {
    this.#life = new AbortController();
    this.start();
  }

  disconnectedCallback() {
    this.end();
    this.#life?.abort();
    this.#life = null;
    for (const timer of this.#timers) clearTimeout(timer); // ends intervals as well
    for (const frame of this.#frames) cancelAnimationFrame(frame);
    for (const observer of this.#observers) observer.disconnect();
    this.#timers.clear();
    this.#frames.clear();
    this.#observers = [];
  }

  /** Runs whenever the element enters the document, so it may run more than once. */
  start() {}

  /** Runs when the element leaves the document, before its listeners end. */
  end() {}

  /** Aborted when the element leaves the document. */
  get signal() {
    return this.#life?.signal ?? AbortSignal.abort();
  }

  /**
   * Hear an event of the browser.
   * @template {keyof (HTMLElementEventMap & WindowEventMap)} Type
   * @param {EventTarget} target
   * @param {Type} type
   * @param {(event: (HTMLElementEventMap & WindowEventMap)[Type]) => void} run
   */
  listen(target, type, run) {
    target.addEventListener(type, /** @type {EventListener} */ (run), { signal: this.signal });
  }

  /**
   * Hear what an element inside of this one sent.
   * @template {keyof ElementEvents} Name
   * @param {Name} name
   * @param {(detail: ElementEvents[Name]) => void} run
   */
  hear(name, run) {
    /** @param {Event} event */
    const listener = (event) => {
      if (event instanceof CustomEvent) run(event.detail);
    };
    this.addEventListener(name, listener, { signal: this.signal });
  }

  /**
   * Tell the elements that contain this one.
   * @template {keyof ElementEvents} Name
   * @param {Name} name
   * @param {ElementEvents[Name] extends undefined ? [] : [detail: ElementEvents[Name]]} details
   */
  send(name, ...details) {
    const [detail] = details;
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  }

  /**
   * Follow a model or the page.
   * @template {object} Events
   * @template {keyof Events & string} Name
   * @param {Emitter<Events>} emitter
   * @param {Name | Name[]} names
   * @param {(detail: Events[Name]) => void} run
   */
  follow(emitter, names, run) {
    for (const name of Array.isArray(names) ? names : [names]) emitter.on(name, run, { signal: this.signal });
  }

  /**
   * Does nothing if the element is not in the document.
   * @param {number} milliseconds
   * @param {() => void} run
   * @returns {number} for `cancel`
   */
  later(milliseconds, run) {
    if (!this.#life) return 0;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, milliseconds);
    this.#timers.add(timer);
    return timer;
  }

  /**
   * @param {number} milliseconds
   * @param {() => void} run
   */
  every(milliseconds, run) {
    if (this.#life) this.#timers.add(setInterval(run, milliseconds));
  }

  /** @param {number} timer */
  cancel(timer) {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  /** @param {() => void} run */
  nextFrame(run) {
    if (!this.#life) return;
    const frame = requestAnimationFrame(() => {
      this.#frames.delete(frame);
      run();
    });
    this.#frames.add(frame);
  }

  /**
   * A function that runs `run` once, when it was not called for a while.
   * @param {number} milliseconds
   * @param {() => void} run
   */
  settled(milliseconds, run) {
    let timer = 0;
    return () => {
      this.cancel(timer);
      timer = this.later(milliseconds, run);
    };
  }

  /**
   * @template {{ disconnect(): void }} Observer
   * @param {Observer} observer to disconnect in the end
   */
  own(observer) {
    this.#observers.push(observer);
    return observer;
  }
}
