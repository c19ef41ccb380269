// What an empty window says.

import { app } from "../shared/app.js";
import { element } from "../shared/format.js";

export function welcome() {
  const words = element(
    "div",
    { className: "welcome" },
    element("h2", { textContent: "One conversation that never ends" }),
    element("p", { textContent: "Say something. What the model looks at while it answers shines; when its context is full, what says least fades from it, word for word, into the memory. When it matters again it comes back at its place, in this window or any other." }),
  );
  if (app.status?.engine?.is_bundled) words.append(element("p", { className: "quiet", textContent: "The bundled model is very small and often wrong. Start with --model your.gguf, or --engine URL for a server, to use your own." }));
  return words;
}
