// The tool calls of this window, the newest first: the call, its result, when it happened, and how long it took.

/** @import { ToolCall } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { moment, seconds } from "../shared/format.js";
import { Part } from "../shared/part.js";

const NONE = "No tool calls in this window yet. The model can search the memory, edit the notes, and save entries in the memory tree.";

export class ToolLog extends Part {
  #list = element("ol", { className: "plain tool-log", tabIndex: 0, "aria-label": "Tool calls" });

  start() {
    this.follow(app.model, ["reset", "tools"], () => this.#draw());
    this.#draw();
  }

  #draw() {
    const calls = app.model.info?.tool_calls ?? [];
    this.#list.replaceChildren(...calls.toReversed().map(callView));
    this.replaceChildren(calls.length ? this.#list : element("p", { className: "quiet", textContent: NONE }));
  }
}

/** @param {ToolCall} call */
function callView({ name, command, arguments: given, result, is_error: isError, seconds: took, time }) {
  const about = [moment(time), typeof took === "number" ? duration(took) : ""].filter(Boolean).join(" · ");
  return element(
    "li",
    { className: isError ? "failed" : "" },
    element("div", { className: "tool-head" }, element("strong", { textContent: name || "unreadable call" }), element("small", { textContent: about })),
    element("code", { className: "tool-command", textContent: given ? JSON.stringify(given) : command }),
    element("p", { className: "tool-result", textContent: result }),
  );
}

/** @param {number} took */
const duration = (took) => (took < 1 ? `${Math.round(took * 1000)} ms` : seconds(took));

customElements.define("halo-tool-log", ToolLog);
