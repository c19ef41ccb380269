// One search result in the list.

/** @import { Hit } from "../shared/records.js" */
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { names } from "../shared/names.js";

const BEFORE = 40;
const LENGTH = 240;

/**
 * @param {Hit} hit
 * @param {string} words that were searched for
 */
export function hitView(hit, words) {
  const state = hit.is_living ? "in context" : hit.is_buried ? "archived" : "in the memory";
  const head = element(
    "span",
    { className: "hit-head" },
    element("strong", { textContent: names()[hit.role] }),
    element("span", { textContent: moment(hit.time) }),
    element("span", { className: `tag ${hit.is_living ? "living" : ""}`, textContent: state }),
  );
  const text = element("span", { className: "hit-text" }, ...marked(excerpt(hit.text, words), words));
  return element("li", { role: "option", "aria-selected": "false", className: "hit" }, head, text);
}

/** @param {string} query */
const wordsOf = (query) => query.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];

/**
 * Begins a little before the first word that was searched for.
 * @param {string} text
 * @param {string} query
 */
function excerpt(text, query) {
  const lower = text.toLowerCase();
  const places = wordsOf(query).map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const start = first > LENGTH / 2 ? first - BEFORE : 0;
  return (start ? "…" : "") + text.slice(start, start + LENGTH).replaceAll(/\s+/gu, " ");
}

/**
 * @param {string} text
 * @param {string} query
 */
function marked(text, query) {
  const words = wordsOf(query);
  if (!words.length) return [text];
  const parts = text.split(new RegExp(`(${words.join("|")})`, "giu"));
  return parts.map((part, place) => (place % 2 ? element("mark", { textContent: part }) : part));
}
