// Whether the model loaded after its settings were applied; it loads while the page stays usable.

/** @import { EngineStatus } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { Part } from "../shared/part.js";

export class EngineOutcome extends Part {
  #saved;

  /** @param {string} [saved] the result of saving, in a sentence */
  constructor(saved = "") {
    super();
    this.#saved = saved;
  }

  start() {
    this.className = "setting-note";
    this.setAttribute("role", "status");
    this.follow(app.program, "status", ({ engine }) => this.#draw(engine));
    app.refreshStatus();
  }

  /** @param {EngineStatus} engine */
  #draw(engine) {
    const failure = engineFailure(engine);
    this.classList.toggle("problem", Boolean(failure));
    const outcome = failure || (engine.state === "ready" ? `${engine.model} is ready.` : "Loading the model…");
    this.textContent = `${this.#saved} ${outcome}`;
  }
}

/**
 * Why the settings that were applied last gave no model, or "" if they did. A server that keeps its old model reports
 * `failure`, or a text other than "ready".
 * @param {Pick<EngineStatus, "state" | "text" | "model"> & { failure?: string }} engine
 */
export function engineFailure({ state, text, model, failure = "" }) {
  const isSilent = state === "loading" || (state === "ready" && text === "ready");
  const why = failure || (isSilent ? "" : text);
  if (!why) return "";
  const sentence = `The new model could not be loaded: ${why.replace(/\.$/u, "")}.`;
  return state === "ready" ? `${sentence} ${model} is still in use.` : sentence;
}

customElements.define("halo-engine-outcome", EngineOutcome);
