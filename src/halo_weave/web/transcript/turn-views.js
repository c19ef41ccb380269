// The views of the turns that are shown. A turn that is as it was keeps its view, and a chunk whose text is the same keeps
// its own, so that neither focus, selection nor place is lost.

/** @import { Said } from "./conversation.js" */
/** @import { TurnOptions } from "./turn-view.js" */
import { cardView, fillCard, groupedByOrigin } from "./card-view.js";
import { isOwn } from "./conversation.js";
import { fillTurn, turnView } from "./turn-view.js";

/** @typedef {{ view: HTMLElement, parts: unknown[] }} ShownTurn a view with what it was made from */

/**
 * Who watches the views: their sizes, and which chunks come into sight.
 * @typedef {object} Watchers
 * @property {ResizeObserver} sizes
 * @property {IntersectionObserver} sights
 * @property {(view: HTMLElement) => void} forgotten the view of a chunk is no longer shown
 */

export class TurnViews {
  #sizes;
  #sights;
  #forgotten;
  /** @type {Map<string, ShownTurn>} */
  #shown = new Map();
  /** @type {Map<string, HTMLElement>} */
  #cards = new Map(); // by the key of their first chunk

  /** @param {Watchers} watchers */
  constructor({ sizes, sights, forgotten }) {
    this.#sizes = sizes;
    this.#sights = sights;
    this.#forgotten = forgotten;
  }

  /**
   * Turns that are as they were keep their views, so that neither focus nor selection is lost.
   * @param {Said[][]} turns
   * @param {Map<string | null, HTMLElement>} gaps
   * @param {{ isReading: boolean, isPast: boolean }} mode whether cards and Markdown are shown, and whether it is a past moment
   */
  arranged(turns, gaps, { isReading, isPast }) {
    const newest = turns.findLast(([first]) => first.role === "assistant" && (!isReading || isOwn(first)));
    const [before, cards] = [this.#shown, this.#cards];
    [this.#shown, this.#cards] = [new Map(), new Map()];
    /** @type {HTMLElement[]} */
    const views = [];
    const groups = isReading ? groupedByOrigin(turns, isOwn) : turns.map((turn) => ({ isCard: false, turns: [turn] }));
    for (const group of groups) {
      const made = group.turns.map((chunks) => this.#turnView(chunks, { isNewest: chunks === newest && !isPast, gaps }, before));
      const gap = gaps.get(group.turns[0][0].id);
      if (gap) views.push(gap);
      if (group.isCard) views.push(this.#card(group.turns, made, cards));
      else views.push(...made);
    }
    this.#drop(before);
    return views;
  }

  /**
   * @param {Said[]} chunks
   * @param {TurnOptions} options
   * @param {Map<string, ShownTurn>} before the views that there were; the one that stays is taken out
   */
  #turnView(chunks, options, before) {
    const [{ id, turn, role }] = chunks;
    const name = `${turn}.${role}`;
    const parts = [options.isNewest, ...chunks.flatMap((chunk) => [chunk, chunk.is_pinned, chunk.id !== id && options.gaps.get(chunk.id)])];
    const known = before.get(name);
    before.delete(name);
    const view = known?.view ?? turnView(chunks, options);
    this.#shown.set(name, { view, parts });
    if (known && areSame(known.parts, parts)) return view;
    const old = new Set(known ? chunkViewsOf(view) : []);
    if (known) fillTurn(view, chunks, options);
    this.#watch(view, old);
    return view;
  }

  /**
   * @param {Said[][]} turns
   * @param {HTMLElement[]} views
   * @param {Map<string, HTMLElement>} cards that there were
   */
  #card(turns, views, cards) {
    const { id } = turns[0][0];
    const card = cards.get(id) ?? cardView();
    this.#cards.set(id, card);
    fillCard(card, turns, views);
    return card;
  }

  /**
   * @param {HTMLElement} view
   * @param {Set<HTMLElement>} old views of chunks that it had before
   */
  #watch(view, old) {
    this.#sizes.observe(view);
    for (const one of chunkViewsOf(view)) if (!old.delete(one)) this.#sights.observe(one);
    this.#unwatch(old);
  }

  /** @param {Iterable<HTMLElement>} views of chunks */
  #unwatch(views) {
    for (const one of views) {
      this.#sights.unobserve(one);
      this.#forgotten(one);
    }
  }

  /** Make all views again. */
  forget() {
    this.#drop(this.#shown);
    this.#shown.clear();
    this.#cards.clear();
  }

  /** @param {Map<string, ShownTurn>} shown */
  #drop(shown) {
    for (const { view } of shown.values()) {
      this.#sizes.unobserve(view);
      this.#unwatch(chunkViewsOf(view));
    }
  }
}

/**
 * @param {Element} root
 * @param {string} which
 */
export const chunkViewsOf = (root, which = ".chunk") => [...root.querySelectorAll(which)].filter((one) => one instanceof HTMLElement);

/**
 * @param {unknown[]} some
 * @param {unknown[]} others
 */
const areSame = (some, others) => some.length === others.length && some.every((one, place) => one === others[place]);

/** @param {readonly Said[]} chunks */
export function groupedByTurn(chunks) {
  /** @type {Said[][]} */
  const turns = [];
  for (const chunk of chunks) {
    const last = turns[turns.length - 1];
    if (last && last[0].turn === chunk.turn && last[0].role === chunk.role) last.push(chunk);
    else turns.push([chunk]);
  }
  return turns;
}
