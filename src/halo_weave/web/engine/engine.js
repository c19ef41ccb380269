// Which model answers, what it supports, and how to use another.

/** @import { Ability, EngineStatus } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { engineFailure } from "./engine-outcome.js";

/** @type {Record<string, string>} */
const KINDS = {
  llamacpp: "runs inside this program",
  kobold: "a server with the Kobold API",
  openai: "a server with the OpenAI API",
  echo: "repeats your messages; for tests",
};

/** @type {Record<EngineStatus["state"], string>} */
const STATES = { ready: "ready", loading: "loading", away: "not available; the page reconnects by itself" };

export class Engine extends Part {
  start() {
    this.follow(app.program, "status", () => this.#draw());
    app.refreshStatus();
    this.#draw();
  }

  #draw() {
    const engine = app.program.status?.engine;
    if (!engine) return this.replaceChildren(element("p", { className: "quiet", textContent: "The server has not responded yet." }));
    const failure = engine.state === "ready" ? engineFailure(engine) : "";
    const settings = element("button", { className: "outlined", textContent: "Model settings" });
    settings.onclick = () => this.send("show-dialog", { name: "settings", at: "engine" });
    this.replaceChildren(
      ...(failure ? [element("p", { className: "note problem", textContent: failure })] : []),
      facts(engine),
      ...(engine.is_bundled ? [bundled()] : []),
      yourOwn(),
      settings,
    );
  }
}

/** @param {EngineStatus} engine */
function facts(engine) {
  const list = element("dl", { className: "facts" });
  /**
   * @param {string} name
   * @param {string} value
   * @param {string} detail
   */
  const fact = (name, value, detail) => list.append(element("dt", { textContent: name }), element("dd", {}, value, ...(detail ? [element("small", { textContent: detail })] : [])));
  /**
   * @param {string} name
   * @param {Ability} ability
   * @param {string} use
   */
  const ability = (name, { available, why_not: whyNot }, use) => fact(name, available ? "available" : "not available", available ? use : whyNot);
  fact("State", STATES[engine.state], engine.text);
  fact("Model", engine.model || "none", engine.is_bundled ? "the bundled model" : "");
  fact("Kind", engine.kind, KINDS[engine.kind] ?? "");
  fact("Context", engine.usable ? `${count(engine.usable)} tokens` : "not known yet", engine.context ? `the model was trained with ${count(engine.context)}` : "");
  ability("Attention", engine.attention, "brightness comes from the model's own attention");
  ability("Editing", engine.editing, "text leaves and returns without processing the rest again");
  return list;
}

const bundled = () => element("p", { className: "note", textContent: "The bundled model is very small. It shows how the memory works, but it is often wrong and knows little." });

const yourOwn = () =>
  element(
    "section",
    {},
    element("h3", { textContent: "Your own model" }),
    element(
      "ul",
      {},
      element("li", {}, "A GGUF file: start with ", element("code", { textContent: "halo-weave --model your.gguf" }), ", or enter its path in the settings."),
      element("li", {}, "A server: start with ", element("code", { textContent: "halo-weave --engine URL" }), ", or enter its address in the settings. Many servers do not report attention; the list above shows whether yours does."),
    ),
  );

customElements.define("halo-engine", Engine);
