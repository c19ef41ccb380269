// A form for a new entry of the memory tree.

import { treeApi } from "../shared/api.js";
import { element } from "../shared/element.js";
import { asDocument, contentProblem } from "../shared/plain-text.js";
import { errorText } from "../shared/request.js";

/** @param {(path: string) => void} saved gets the path of the new entry */
export function newEntry(saved) {
  const path = element("input", { className: "field", placeholder: "Project/Goals", "aria-label": "Path", autocomplete: "off", spellcheck: false });
  const editor = element("textarea", { className: "field mono", rows: 10, spellcheck: false, placeholder: "Plain text or JSON", "aria-label": "Content" });
  const note = element("p", { role: "status", className: "problem" });
  const button = element("button", { className: "primary small", textContent: "Save" });
  const check = () => {
    const problem = contentProblem(editor.value);
    note.textContent = path.value.trim() && editor.value.trim() ? problem : "";
    button.disabled = !path.value.trim() || Boolean(problem);
  };
  path.oninput = editor.oninput = check;
  button.onclick = async () => {
    try {
      saved((await treeApi.save(path.value, asDocument(editor.value), 0)).path);
    } catch (error) {
      note.textContent = errorText(error);
    }
  };
  check();
  return element("div", { className: "tree-new" }, element("h3", { textContent: "New entry" }), path, editor, note, element("div", { className: "row" }, button));
}
