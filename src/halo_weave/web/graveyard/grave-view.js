// One entry of the graveyard.

import { app } from "../shared/app.js";
import { count, element, moment, plural } from "../shared/format.js";
import { names } from "../shared/names.js";
import { resurrect, undelete } from "../shared/returning.js";

const SHORT = 110; // about what two lines hold

export function graveView(grave) {
  const { key, tokens, peak, reason, buried_at: buriedAt } = grave;
  const who = names()[key.role];
  const turn = `turn ${turnNumber(key)}`;
  const heading = element(
    "div",
    { className: "grave-head" },
    element("strong", { textContent: who }),
    element("span", { textContent: turn }),
    element("span", { textContent: plural(tokens, "token") }),
  );
  if (grave.is_superseded) heading.append(badge("superseded"));
  else if (grave.is_deleted) heading.append(badge("deleted"));
  const when = element("time", { dateTime: buriedAt, textContent: moment(buriedAt) });
  const facts = element("summary", { title: "Why it left" }, when, peak === null ? "" : ` · peak ${count(peak)}`);
  const why = element("details", { className: "grave-why" }, facts, element("p", { textContent: reason }));
  const label = grave.is_deleted ? "Undelete" : "Resurrect";
  const back = element("button", { className: "outlined small", textContent: label, "aria-label": `${label}: ${who}, ${turn}` });
  back.onclick = () => bringBack(grave, back);
  heading.append(back);
  const view = element("li", { className: "grave" }, heading, words(grave), why);
  view.classList.toggle("gone", grave.is_deleted);
  return view;
}

// Turns have no upper limit.
export const turnNumber = (key) => BigInt(key.turn).toLocaleString("en");

async function bringBack(grave, button) {
  button.disabled = true;
  const isDone = grave.is_deleted ? await undelete(grave.key) : await resurrect(grave.key);
  button.disabled = false;
  if (isDone) button.dispatchEvent(new CustomEvent("brought-back", { bubbles: true }));
}

function words({ text }) {
  const paragraph = element("p", { className: "grave-text" });
  const isLong = text.length > SHORT || text.trim().split("\n").length > 2;
  const shorten = () => (paragraph.textContent = isLong ? text.trim().slice(0, 2 * SHORT) : text.trim());
  shorten();
  if (!isLong) return paragraph;
  paragraph.classList.add("short");
  const more = element("button", { className: "link", textContent: "Show all", "aria-expanded": "false" });
  more.onclick = () => {
    const isShort = paragraph.classList.toggle("short");
    if (isShort) shorten();
    else paragraph.textContent = text;
    more.textContent = isShort ? "Show all" : "Show less";
    more.setAttribute("aria-expanded", String(!isShort));
  };
  return element("div", {}, paragraph, more);
}

const badge = (textContent) => element("span", { className: "tag", textContent });
