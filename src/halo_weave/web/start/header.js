// The top of the page: the window's name, the view, the model, and buttons for the panels at the sides.

/** @import { View } from "../shared/events.js" */
/** @import { EngineStatus } from "../shared/records.js" */
import { toggleGraveyard } from "../graveyard/panel.js";
import { app } from "../shared/app.js";
import { find } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";

/** @type {View[]} */
const VIEWS = ["read", "weave"];

export class Header extends Part {
  start() {
    this.listen(this.#button("toggle-left"), "click", () => this.#toggleLeft());
    this.listen(this.#button("toggle-right"), "click", () => toggleGraveyard());
    for (const view of VIEWS) this.listen(this.#button(`view-${view}`), "click", () => app.setView(view));
    this.follow(app, "view", () => this.#showView());
    this.follow(app, "lost", () => this.#showEngine("away", "the server is not responding"));
    this.follow(app, "connected", () => app.refreshStatus());
    this.follow(app.program, "status", ({ engine }) => this.#showEngine(...engineInWords(engine)));
    this.follow(app.program, "windows", (windows) => {
      const own = windows.find(({ id }) => id === app.model.info?.id);
      if (own && own.name !== app.model.info?.name) app.model.setName(own.name);
    });
    this.follow(app.model, ["reset", "meta"], () => this.#showName(app.model.info?.name ?? ""));
    this.#showView();
  }

  /** @param {string} id */
  #button(id) {
    return find(this, `#${id}`, HTMLButtonElement);
  }

  #toggleLeft() {
    const isOpen = find(document, "#left", HTMLElement).classList.toggle("open");
    this.#button("toggle-left").setAttribute("aria-expanded", String(isOpen));
  }

  #showView() {
    for (const view of VIEWS) this.#button(`view-${view}`).setAttribute("aria-pressed", String(app.view === view));
    document.body.dataset.view = app.view;
  }

  /** @param {string} name */
  #showName(name) {
    find(this, "#window-name", HTMLElement).textContent = name;
    document.title = `${name} · Halo Weave`;
  }

  /**
   * @param {EngineStatus["state"]} state
   * @param {string} text
   */
  #showEngine(state, text) {
    this.#button("engine").dataset.state = state;
    find(this, "#engine-text", HTMLElement).textContent = text;
  }
}

/**
 * @param {EngineStatus} engine
 * @returns {[EngineStatus["state"], string]}
 */
function engineInWords({ state, text, model, usable, attention, editing }) {
  if (state !== "ready") return [state, text];
  if (app.isLost) return ["loading", "reconnecting to this window"];
  const abilities = [attention?.available && "attention", editing?.available && "editing"].filter(Boolean);
  return [state, [model, `${count(usable)} tokens`, ...abilities].join(" · ")];
}

customElements.define("halo-header", Header);
