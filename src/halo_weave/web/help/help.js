// The keys, and the ideas behind the page.

import { element } from "../shared/element.js";
import { hasLetterKeys } from "../shared/letter-keys.js";
import { Part } from "../shared/part.js";

/** @typedef {[key: string, use: string][]} Keys */

/** @type {Keys} */
const KEYS = [
  ["Enter", "send; while a reply is written, send when it ends"],
  ["Shift Enter", "new line"],
  ["Esc", "stop the reply"],
  ["Ctrl Enter", "regenerate the reply"],
  ["↑ in an empty box", "edit your last message"],
  ["Ctrl K", "search the memory"],
  ["Ctrl /", "this help"],
];

/** @type {Keys} */
const LIST_KEYS = [
  ["↑ ↓", "go from window to window"],
  ["Alt ↑, Alt ↓", "move the window"],
  ["F2", "rename it"],
];

/** @type {Keys} */
const LETTER_KEYS = [
  ["G", "graveyard"],
  ["M", "memory tree"],
  ["N", "notes"],
  ["W", "read or weave view"],
  ["P", "pin the selected chunk"],
];

const CAVEAT = "Brightness shows attention, not importance. A bright word was used by the model, which does not mean that it matters; a dim one may still be true.";

const IDEAS = [
  ["Brightness", "While the model writes, it pays more attention to some words than to others. Those words stay bright, up to 10,000; the others fade. A chunk is as bright as its brightest word. The weave view shows this."],
  ["Burying", "When the context is full, the least useful chunks leave it: those with no new information, no names or numbers, and little attention. They are neither shortened nor lost. The graveyard keeps them word for word, and a line in the conversation marks their place."],
  ["Returning", "Each message searches the whole memory. Relevant chunks return to their original place, with their date, in whichever window you are in. Underlined in them is what the message looked at. Resurrect does the same by hand and pins the chunk."],
  ["Pinning", "A pinned chunk is never buried."],
  ["Tools", "The model can search the memory, edit the notes and save entries in the memory tree by writing a call in its reply. Tool results have their own colour, and Tool calls lists them all. Small models do not get tools by default; you can change that in the settings."],
  ["Windows", "Each window has its own context and settings. All windows share one memory. A fresh window starts without recall; a private one reads the memory, and nothing of it is saved."],
];

export class Help extends Part {
  start() {
    this.replaceChildren(
      element("p", { className: "note", textContent: CAVEAT }),
      ...IDEAS.map(([title, words]) => element("section", {}, element("h3", { textContent: title }), element("p", { textContent: words }))),
      element(
        "section",
        {},
        element("h3", { textContent: "Keys" }),
        keyList(KEYS),
        element("h4", { textContent: "In the list of windows" }),
        keyList(LIST_KEYS),
        element("h4", { textContent: "Outside the message box" }),
        element("p", { className: "quiet", textContent: letterKeysInWords() }),
        keyList(LETTER_KEYS),
      ),
    );
  }
}

function letterKeysInWords() {
  const [state, other] = hasLetterKeys() ? ["on", "off"] : ["off", "on"];
  return `These single-letter keys are ${state}. Switch them ${other} in Settings, under Page and names.`;
}

/** @param {Keys} rows */
function keyList(rows) {
  const list = element("dl", { className: "keys" });
  for (const [key, use] of rows) list.append(element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: use }));
  return list;
}

customElements.define("halo-help", Help);
