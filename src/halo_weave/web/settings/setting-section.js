// The fields of one section. The model's and the embedder's are applied together, since one without the other fails.

import { element } from "../shared/format.js";
import { SettingField } from "./setting-field.js";
import "../engine/engine-outcome.js";
import "./reembedding.js";

const DEFERRED = {
  engine: "Applying loads the model anew.",
  embedder: "With another embedder, embed the memory again below.",
};

export function settingSection(section, settings, store) {
  const isDeferred = section in DEFERRED;
  const fields = settings.map((setting) => new SettingField(setting, store, { isDeferred }));
  const root = element("div", {}, ...fields.map((field) => field.root));
  if (isDeferred) root.append(applying(section, fields, store));
  if (section === "embedder") root.append(element("halo-reembedding"));
  return root;
}

function applying(section, fields, store) {
  const note = element("p", { className: "setting-note", role: "status" });
  const button = element("button", { className: "primary", textContent: "Apply" });
  const outcome = element("div");
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
      if (section === "engine") outcome.append(element("halo-engine-outcome", { saved: text }));
    } catch (error) {
      const meant = error.field ?? changed.find(({ name }) => error.message.includes(name));
      meant?.tell(error.message, true);
      meant?.root.scrollIntoView({ block: "nearest" });
      tell(meant ? "Nothing was changed." : error.message, true);
    }
    button.disabled = false;
  };
  return element("div", { className: "applying" }, button, element("span", { className: "quiet", textContent: DEFERRED[section] }), note, outcome);
}

function valueOf(field) {
  try {
    return field.read();
  } catch (error) {
    throw Object.assign(error, { field });
  }
}
