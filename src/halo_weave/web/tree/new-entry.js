// A form for a new entry of the memory tree.

import { treeApi } from "../shared/api.js";
import { element } from "../shared/element.js";
import { jsonProblem } from "../shared/json-problem.js";
import { errorText } from "../shared/request.js";

/** @param {(path: string) => void} saved gets the path of the new entry */
export function newEntry(saved) {
  const path = element("input", { className: "field", placeholder: "Project/Goals", "aria-label": "Path", autocomplete: "off", spellcheck: false });
  const editor = element("textarea", { className: "field mono", rows: 10, spellcheck: false, "aria-label": "Content, as JSON", value: "{\n  \n}" });
  const note = element("p", { role: "status", className: "problem" });
  const button = element("button", { className: "primary small", textContent: "Save" });
  const check = () => {
    note.textContent = path.value.trim() ? jsonProblem(editor.value) : "";
    button.disabled = !path.value.trim() || Boolean(jsonProblem(editor.value));
  };
  path.oninput = editor.oninput = check;
  button.onclick = async () => {
    try {
      saved((await treeApi.save(path.value, editor.value, 0)).path);
    } catch (error) {
      note.textContent = errorText(error);
    }
  };
  check();
  return element("div", { className: "tree-new" }, element("h3", { textContent: "New entry" }), path, editor, note, element("div", { className: "row" }, button));
}
