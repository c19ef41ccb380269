// The calls of tools in this window, the newest first: what was asked, what came of it, when, and how long it took.

import { app } from "../shared/app.js";
import { element, moment, seconds } from "../shared/format.js";
import { Part } from "../shared/part.js";

const NONE = "No tool was called in this window yet. The model can search the memory, keep notes, and save what matters under a path.";

class ToolLog extends Part {
  #list = element("ol", { className: "plain tool-log", tabIndex: 0, "aria-label": "Calls of tools" });

  start() {
    this.follow(app.model, "reset tools", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const calls = app.model.info?.tool_calls ?? [];
    this.#list.replaceChildren(...[...calls].reverse().map(entry));
    this.replaceChildren(calls.length ? this.#list : element("p", { className: "quiet", textContent: NONE }));
  }
}

function entry({ name, command, arguments: given, result, is_error: isError, seconds: took, time }) {
  const about = [moment(time), typeof took === "number" ? duration(took) : ""].filter(Boolean).join(" · ");
  const view = element("li", { className: isError ? "failed" : "" });
  view.append(element("div", { className: "tool-head" }, element("strong", { textContent: name || "unreadable call" }), element("small", { textContent: about })));
  view.append(element("code", { className: "tool-command", textContent: given ? JSON.stringify(given) : command }));
  view.append(element("p", { className: "tool-result", textContent: result }));
  return view;
}

const duration = (took) => (took < 1 ? `${Math.round(took * 1000)} ms` : seconds(took));

customElements.define("halo-tool-log", ToolLog);
