// What is in context from elsewhere, another window or an import: a folded card at its place in time.

/** @import { Said } from "./conversation.js" */
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { element, find } from "../shared/element.js";
import { date, plural } from "../shared/format.js";

export const cardView = () => element("details", { className: "card" }, element("summary"));

/**
 * @param {HTMLElement} card
 * @param {Said[][]} turns
 * @param {HTMLElement[]} views of these turns
 */
export function fillCard(card, turns, views) {
  const [[first]] = turns;
  const summary = find(card, "summary", HTMLElement);
  const size = plural(turns.flat().length, "passage");
  const why = turns.flat().find((chunk) => chunk.returned)?.returned ?? "";
  summary.replaceChildren("from ", element("em", { textContent: origin(first) }), `, ${date(first.time)} `, element("small", { textContent: `· ${size} in context` }));
  summary.title = why;
  arrange(card, [summary, ...views]);
}

/** @param {Said} said */
function origin({ window, marks }) {
  const name = app.program.windows.find(({ id }) => id === window)?.name;
  return name ?? marks.source ?? (window ? "another window" : "an import");
}

/**
 * Turns in groups: a window's own turns alone, others together with their neighbours from the same place.
 * @param {Said[][]} turns
 * @param {(said: Said) => boolean} isOwn
 * @returns {{ isCard: boolean, turns: Said[][] }[]}
 */
export function groupedByOrigin(turns, isOwn) {
  /** @type {{ isCard: boolean, turns: Said[][] }[]} */
  const groups = [];
  for (const turn of turns) {
    const isCard = !isOwn(turn[0]);
    const last = groups.at(-1);
    if (isCard && last?.isCard && last.turns[0][0].window === turn[0].window) last.turns.push(turn);
    else groups.push({ isCard, turns: [turn] });
  }
  return groups;
}
