// What became of the model after its settings were applied; it is loaded while the page goes on.

import { app } from "../shared/app.js";
import { Part } from "../shared/part.js";

class EngineOutcome extends Part {
  saved = ""; // what came of saving, in a sentence

  start() {
    this.className = "setting-note";
    this.setAttribute("role", "status");
    this.follow(app, "status", () => this.#draw());
    app.refreshStatus();
  }

  #draw() {
    const { engine } = app.status;
    const failure = engineFailure(engine);
    this.classList.toggle("problem", Boolean(failure));
    const outcome = failure || (engine.state === "ready" ? `${engine.model} is ready.` : "The model is being loaded…");
    this.textContent = `${this.saved} ${outcome}`;
  }
}

// Why the settings that were applied last gave no model, or "" if they did. A server that keeps its old model says so by
// `failure`, or by another text than "ready".
export function engineFailure({ state, text, model, failure = "" }) {
  const isSilent = state === "loading" || (state === "ready" && text === "ready");
  const why = failure || (isSilent ? "" : text);
  if (!why) return "";
  const sentence = `The new model could not be loaded: ${why.replace(/\.$/u, "")}.`;
  return state === "ready" ? `${sentence} ${model} is still in use.` : sentence;
}

customElements.define("halo-engine-outcome", EngineOutcome);
