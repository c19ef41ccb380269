// The thin mark at the margin of a passage that is out of the model's context; it says why when it is asked.

import { element } from "../shared/element.js";

const UNKNOWN = "It is in the memory and returns when you need it.";

/** @param {string} reason why it left; empty if that is not known */
export function leftContextMark(reason) {
  const text = `Out of context. ${reason || UNKNOWN}`;
  const why = element("p", { className: "out-why", hidden: true, textContent: text });
  const mark = element("button", { className: "out-mark", title: text, "aria-label": text, "aria-expanded": "false" });
  mark.onclick = () => {
    why.hidden = !why.hidden;
    mark.setAttribute("aria-expanded", String(!why.hidden));
  };
  return [mark, why];
}
