// Paints the chunks in sight in the colours of the heat map.
//
// Each token of a chunk in sight is a span, made once; a step changes only the class of tokens whose colour changes. The
// CSS Custom Highlight API needs no spans, but paints all ranges again whenever anything on the page changes, as each
// written token does: with 20,000 tokens in context a frame took seven times as long.

/** @import { HeatMap } from "../brightness/heat-map.js" */
/** @import { Part } from "../shared/part.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { UNSEEN } from "../brightness/heat-map.js";
import { find } from "../shared/element.js";
import { underlineTokens } from "./looked-at.js";

/** @typedef {{ spans: Element[], levels: Uint8Array }} Painted */

const NONE = 255; // a level that was never painted
const CLASSES = [...Array.from({ length: UNSEEN }, (_, level) => `b${level}`), "", "out"]; // by level
const CHANGES_PER_FRAME = 200;

export class Painter {
  #owner;
  #heat;
  /** @type {WeakMap<HTMLElement, Painted>} */
  #painted = new WeakMap();
  /** @type {Map<HTMLElement, Chunk>} */
  #due = new Map();
  #isScheduled = false;

  /**
   * @param {Part} owner whose frames are used
   * @param {HeatMap} heat
   */
  constructor(owner, heat) {
    this.#owner = owner;
    this.#heat = heat;
  }

  /** All colours may be different. */
  forget() {
    this.#painted = new WeakMap();
  }

  /**
   * Paint these chunks over the next frames.
   * @param {[HTMLElement, Chunk][]} pairs
   */
  paint(pairs) {
    this.#due = new Map(pairs);
    this.#schedule();
  }

  /**
   * The view is out of sight: its tokens become one text again, unless that would tear a selection.
   * @param {HTMLElement} view
   */
  release(view) {
    this.#due.delete(view);
    const words = view.querySelector(".words");
    if (!words?.firstElementChild || getSelection()?.containsNode(words, true)) return;
    words.replaceChildren(words.textContent ?? "");
    this.#painted.delete(view);
  }

  /**
   * Which token of its chunk an element is; -1 if it is none.
   * @param {HTMLElement} view
   * @param {Element} target
   */
  placeOf(view, target) {
    return this.#painted.get(view)?.spans.findIndex((span) => span.contains(target)) ?? -1;
  }

  #schedule() {
    if (this.#isScheduled && this.#owner.isConnected) return;
    this.#isScheduled = true;
    this.#owner.nextFrame(() => {
      this.#isScheduled = false;
      this.#paintSome();
    });
  }

  #paintSome() {
    let changes = 0;
    for (const [view, chunk] of this.#due) {
      this.#due.delete(view);
      changes += this.#paintChunk(view, chunk);
      if (changes >= CHANGES_PER_FRAME) break;
    }
    if (this.#due.size) this.#schedule();
  }

  /**
   * @param {HTMLElement} view
   * @param {Chunk} chunk
   */
  #paintChunk(view, chunk) {
    const { spans, levels } = this.#spansOf(view, chunk);
    const values = this.#heat.values(chunk);
    let [changes, peak] = [0, -1];
    for (let place = 0; place < spans.length; place += 1) {
      const level = this.#heat.level(chunk, place, values?.[place], levels[place]);
      if (level < UNSEEN && level > peak) peak = level;
      if (level === levels[place]) continue;
      levels[place] = level;
      spans[place].className = CLASSES[level];
      changes += 1;
    }
    view.dataset.peak = peak < 0 ? "none" : String(peak);
    return changes;
  }

  /**
   * @param {HTMLElement} view
   * @param {Chunk} chunk
   * @returns {Painted}
   */
  #spansOf(view, chunk) {
    const known = this.#painted.get(view);
    if (known) return known;
    const words = find(view, ".words", HTMLElement);
    if (!words.firstElementChild) {
      const tokens = chunk.pieces.map((piece) => {
        const span = document.createElement("span");
        span.textContent = piece;
        return span;
      });
      underlineTokens(tokens, chunk);
      words.replaceChildren(...tokens);
    }
    const made = { spans: [...words.children], levels: new Uint8Array(chunk.pieces.length).fill(NONE) };
    this.#painted.set(view, made);
    return made;
  }
}
