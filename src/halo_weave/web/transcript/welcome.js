// What an empty window shows.

import { app } from "../shared/app.js";
import { element } from "../shared/element.js";

const IDEA =
  "Write a message to begin. While the model answers, the passages it pays attention to stay bright. When the context is full, the least useful passages move to the memory, word for word. They return to their place when you need them, in this window or any other.";
const BUNDLED = "The bundled model is very small and often wrong. To use your own, start with --model your.gguf, or with --engine URL for a server.";

export function welcome() {
  const view = element("div", { className: "welcome" }, element("h2", { textContent: "One conversation that never ends" }), element("p", { textContent: IDEA }));
  if (app.program.status?.engine.is_bundled) view.append(element("p", { className: "quiet", textContent: BUNDLED }));
  return view;
}
