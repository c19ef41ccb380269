// An object that reports what happened to it. The names of its events and their details are declared in events.js; any
// other name is a type error.

/**
 * @template {object} Events
 * @typedef {{ [Name in keyof Events]: Events[Name] extends undefined ? Name : never }[keyof Events] & string} NamesWithoutDetail
 */

/** @template {object} Events names of events with the types of their details */
export class Emitter {
  /**
   * Lets the type checker find the events of a subclass; it has no value.
   * @type {Events | undefined}
   */
  events = undefined;
  #target = new EventTarget();

  /**
   * Runs `run` with the event's detail each time, until `signal` is aborted.
   * @template {keyof Events & string} Name
   * @param {Name} name
   * @param {(detail: Events[Name]) => void} run
   * @param {{ signal: AbortSignal }} until
   */
  on(name, run, until) {
    /** @param {Event} event */
    const listener = (event) => {
      if (event instanceof CustomEvent) run(event.detail);
    };
    this.#target.addEventListener(name, listener, until);
  }

  /**
   * Resolves the next time that it happens, or once `signal` is aborted.
   * @param {keyof Events & string} name
   * @param {{ signal?: AbortSignal }} [until]
   * @returns {Promise<void>}
   */
  next(name, { signal } = {}) {
    return new Promise((resolve) => {
      this.#target.addEventListener(name, () => resolve(), { once: true, signal });
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /**
   * For the object itself, and for views that tell the page something.
   * @overload
   * @param {NamesWithoutDetail<Events>} name
   * @returns {void}
   */
  /**
   * @template {keyof Events & string} Name
   * @overload
   * @param {Name} name
   * @param {Events[Name]} detail
   * @returns {void}
   */
  /**
   * @param {string} name
   * @param {unknown} [detail]
   */
  emit(name, detail) {
    this.#target.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
