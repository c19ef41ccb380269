// Which model answers, what it can do, and how to use another.

import { app } from "../shared/app.js";
import { engineFailure } from "./engine-outcome.js";
import { count, element } from "../shared/format.js";
import { Part } from "../shared/part.js";

const KINDS = {
  llamacpp: "runs inside this program",
  kobold: "a server with the Kobold API",
  openai: "a server with the OpenAI API",
  echo: "repeats what it is told; for tests",
};
const STATES = { ready: "ready", loading: "loading", away: "away; the page goes on by itself when it is back" };

class Engine extends Part {
  start() {
    this.follow(app, "status", () => this.#draw());
    app.refreshStatus();
    this.#draw();
  }

  #draw() {
    const engine = app.status?.engine;
    if (!engine) return this.replaceChildren(element("p", { className: "quiet", textContent: "The server does not answer yet." }));
    const facts = element("dl", { className: "facts" });
    const fact = (name, value, why = "") => facts.append(element("dt", { textContent: name }), element("dd", {}, value, ...(why ? [element("small", { textContent: why })] : [])));
    fact("State", STATES[engine.state] ?? engine.state, engine.text);
    fact("Model", engine.model || "none", engine.is_bundled ? "the bundled model" : "");
    fact("Kind", engine.kind, KINDS[engine.kind] ?? "");
    fact("Context", engine.usable ? `${count(engine.usable)} tokens` : "not known yet", engine.context ? `the model was trained on ${count(engine.context)}` : "");
    fact("Attention", ...ability(engine.attention, "brightness comes from what the model really looks at"));
    fact("Editing", ...ability(engine.editing, "text leaves and returns without reading the rest again"));
    const others = element("button", { className: "outlined", textContent: "Model settings" });
    others.onclick = () => this.dispatchEvent(new CustomEvent("show-dialog", { bubbles: true, detail: { name: "settings", at: "engine" } }));
    const failure = engine.state === "ready" && engineFailure(engine);
    this.replaceChildren(...(failure ? [element("p", { className: "note problem", textContent: failure })] : []), facts, ...(engine.is_bundled ? [bundled()] : []), yourOwn(), others);
  }
}

const ability = ({ available, why_not: whyNot }, use) => (available ? ["available", use] : ["not available", whyNot]);

const bundled = () => element("p", { className: "note", textContent: "The bundled model is very small. It shows at once how the memory works, but it is often wrong and does not know much." });

const yourOwn = () =>
  element(
    "section",
    {},
    element("h3", { textContent: "Your own model" }),
    element(
      "ul",
      {},
      element("li", {}, "A GGUF file: start with ", element("code", { textContent: "halo-weave --model your.gguf" }), ", or enter its path in the settings."),
      element("li", {}, "A server: start with ", element("code", { textContent: "halo-weave --engine URL" }), ", or enter its address in the settings. Many servers do not tell what the model looks at; the lines above say so then."),
    ),
  );

customElements.define("halo-engine", Engine);
