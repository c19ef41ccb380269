// The fields of one section. The model's and the embedder's are applied together, since one without the other fails.

/** @import { Setting } from "../shared/records.js" */
/** @import { SettingStore } from "./setting-stores.js" */
import { EngineOutcome } from "../engine/engine-outcome.js";
import { element } from "../shared/element.js";
import { errorText } from "../shared/request.js";
import { Reembedding } from "./reembedding.js";
import { SettingField } from "./setting-field.js";

const DEFERRED = new Map([
  ["engine", "Apply reloads the model."],
  ["embedder", "After you change the embedder, embed the memory again below."],
]);

/** A field whose value cannot be used. */
class FieldError extends Error {
  /**
   * @param {string} message
   * @param {SettingField} field
   */
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/**
 * @param {string} section
 * @param {Setting[]} settings
 * @param {SettingStore} store
 * @param {(name: string) => boolean} [isFolded] which settings are under "Advanced"; those that were changed never are
 */
export function settingSection(section, settings, store, isFolded = () => false) {
  const hint = DEFERRED.get(section);
  const fields = settings.map((setting) => new SettingField(setting, store, { isDeferred: hint !== undefined }));
  const folded = fields.filter(({ name }) => isFolded(name) && !store.isOwn(name));
  const open = fields.filter((field) => !folded.includes(field));
  const root = element("div", {}, ...open.map((field) => field.root));
  if (folded.length) {
    const summary = element("summary", { textContent: `Advanced (${folded.length})` });
    root.append(element("details", { className: "advanced", open: !open.length }, summary, ...folded.map((field) => field.root)));
  }
  if (hint !== undefined) root.append(applying(section, hint, fields, store));
  if (section === "embedder") root.append(new Reembedding());
  return root;
}

/**
 * @param {string} section
 * @param {string} hint
 * @param {SettingField[]} fields
 * @param {SettingStore} store
 */
function applying(section, hint, fields, store) {
  const note = element("p", { className: "setting-note", role: "status" });
  const button = element("button", { className: "primary", textContent: "Apply" });
  const outcome = element("div");
  /** @param {string} text */
  const tell = (text, isProblem = false) => {
    note.textContent = text;
    note.classList.toggle("problem", isProblem);
  };
  button.onclick = async () => {
    const changed = fields.filter(({ isChanged }) => isChanged);
    outcome.replaceChildren();
    if (!changed.length) return tell("Nothing was changed.");
    button.disabled = true;
    try {
      const text = await store.save(Object.fromEntries(changed.map((field) => [field.name, valueOf(field)])));
      for (const field of changed) {
        field.show();
        field.tell("");
      }
      tell(section === "engine" ? "" : text);
      if (section === "engine") outcome.append(new EngineOutcome(text));
    } catch (error) {
      const problem = errorText(error);
      const meant = error instanceof FieldError ? error.field : changed.find(({ name }) => problem.includes(name));
      meant?.tell(problem, true);
      meant?.root.scrollIntoView({ block: "nearest" });
      tell(meant ? "Nothing was changed." : problem, true);
    }
    button.disabled = false;
  };
  return element("div", { className: "applying" }, button, element("span", { className: "quiet", textContent: hint }), note, outcome);
}

/** @param {SettingField} field */
function valueOf(field) {
  try {
    return field.read();
  } catch (error) {
    throw new FieldError(errorText(error), field);
  }
}
