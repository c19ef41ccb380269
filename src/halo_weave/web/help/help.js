// What the keys do and what is seen.

import { element } from "../shared/format.js";
import { hasLetterKeys } from "../shared/letter-keys.js";

const KEYS = [
  ["Enter", "send"],
  ["Shift Enter", "new line"],
  ["Esc", "stop the reply"],
  ["Ctrl Enter", "answer again"],
  ["↑ in an empty box", "edit the last message"],
  ["Ctrl K", "search the memory"],
  ["Ctrl /", "this help"],
];

const KEYS_OUTSIDE = [
  ["G", "graveyard"],
  ["M", "memory tree"],
  ["N", "notes"],
  ["W", "read or weave"],
  ["P", "pin the chunk that is chosen"],
];

const IDEAS = [
  ["Brightness", "While the model writes, it looks back at some words more than at others. Words that it looks at stay bright, up to 10,000; the others fade. A chunk is as bright as its brightest word. The weave view shows it."],
  ["Fading", "When the context is full, the chunks that are worth least leave it: those that say nothing new, no names or numbers, and that nobody looks at. They are not shortened and not lost: they lie in the graveyard, word for word, and a line in the conversation shows where they were."],
  ["Returning", "With each message the whole memory is searched. What belongs to it comes back at its old place, with its date, in whatever window you are. Resurrect does the same by hand and pins the chunk."],
  ["Pinning", "A pinned chunk never fades."],
  ["Tools", "The model can search the memory, keep notes and save what matters in the memory tree, by writing a call in its reply. What a tool answers has a colour of its own; Tool calls lists all of them. Small models are not told of their tools; the settings can change that."],
  ["Windows", "Each window has its own context and its own settings. The memory is one for all."],
];

class Help extends HTMLElement {
  connectedCallback() {
    this.replaceChildren(
      element("p", { className: "note", textContent: "Attention shows use, not importance: a word that shines was looked at, which does not mean that it matters, and a dim one may be true." }),
      ...IDEAS.map(([title, words]) => element("section", {}, element("h3", { textContent: title }), element("p", { textContent: words }))),
      element("section", {}, element("h3", { textContent: "Keys" }), keys(KEYS), element("h4", { textContent: "Outside of the message box" }), element("p", { className: "quiet", textContent: letterKeysInWords() }), keys(KEYS_OUTSIDE)),
    );
  }
}

const letterKeysInWords = () => `These single-letter keys are ${hasLetterKeys() ? "on" : "off"}. You can switch them ${hasLetterKeys() ? "off" : "on"} in Settings, under Page and names.`;

function keys(rows) {
  const list = element("dl", { className: "keys" });
  for (const [key, use] of rows) list.append(element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: use }));
  return list;
}

customElements.define("halo-help", Help);
