// Links to a message: the window and the key of a chunk behind the page's address (#3f9a…/12.0.user).

import { app } from "../shared/app.js";
import { Part } from "../shared/part.js";

/** @returns {{ windowId: string, key: string } | null} */
export function linkedPlace() {
  const [, windowId, key] = /^#([0-9a-f]+)\/([0-9]+\.[0-9]+\.(?:user|assistant|system))$/u.exec(location.hash) ?? [];
  return windowId && key ? { windowId, key } : null;
}

/** Goes where the address points, once the first window is open and whenever the address changes. */
export class Links extends Part {
  start() {
    app.model.next("reset", { signal: this.signal }).then(() => this.#go());
    this.listen(window, "hashchange", () => this.#go());
    this.follow(app, "window", (id) => linkedPlace()?.windowId !== id && forget());
    this.follow(app.model, "message", forget);
  }

  #go() {
    const place = linkedPlace();
    if (!place || this.signal.aborted) return;
    const isKnown = place.windowId === app.windowId || app.program.windows.some(({ id }) => id === place.windowId);
    if (isKnown) app.goTo(place.windowId, place.key);
  }
}

// The person has gone elsewhere; a reload must not lead back.
function forget() {
  if (linkedPlace()) history.replaceState(null, "", location.pathname + location.search);
}

customElements.define("halo-links", Links);
