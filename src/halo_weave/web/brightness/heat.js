// The colours of the living context: what they stand for, their scale, and the chunks that can be seen painted in it.
//
// Each token of a chunk in sight is a span, made once; a step changes the class of those alone whose colour changes. The
// CSS Custom Highlight API needs no spans, but paints all ranges again whenever anything on the page changes, as each
// written word does: at 20,000 living tokens a frame took seven times as long.

import { compareNumbers } from "../shared/model.js";
import { BUCKETS, Scale } from "./scale.js";

export const NEW_BRIGHTNESS = 10000;
export const UNSEEN = BUCKETS; // the level of what no look has met yet: neither bright nor dim, but plain
const NONE = 255; // a level that was never painted
const CHANGES_PER_FRAME = 200;

export class HeatMap extends EventTarget {
  scale = new Scale();
  mode = "brightness"; // or attention, age
  isLinear = false;
  chunks = []; // all that live, in order
  #painted = new WeakMap(); // spans and levels, by view
  #due = new Map(); // what has to be painted: chunks by view
  #isScheduled = false;
  #newest = ""; // the turn with which the newest exchange begins
  #ages = new Map();

  setMode(mode, isLinear) {
    this.mode = mode;
    this.isLinear = isLinear;
    this.#painted = new WeakMap();
  }

  // Find the scale for these chunks.
  fit(chunks) {
    this.chunks = chunks;
    this.#newest = (chunks.findLast(({ role }) => role === "user") ?? chunks.at(-1))?.turn ?? "";
    if (this.mode === "age") this.#findAges();
    this.scale.fit(chunks.map((chunk) => this.#seenValues(chunk)), this.isLinear);
    this.dispatchEvent(new CustomEvent("scaled"));
  }

  // What the colours stand for, for each token; null if there is nothing to tell.
  values(chunk) {
    if (this.mode === "attention") return chunk.attention ?? null;
    if (this.mode === "age") return this.#ages.get(chunk.id) ?? null;
    return chunk.brightness;
  }

  // The bucket of the chunk's brightest token, or UNSEEN.
  peak(chunk) {
    const values = this.#seenValues(chunk);
    return values.length ? this.scale.bucket(values.reduce((peak, value) => Math.max(peak, value), -Infinity)) : UNSEEN;
  }

  // How many tokens are on each level.
  histogram() {
    const counts = new Array(BUCKETS + 1).fill(0);
    for (const chunk of this.chunks) {
      const values = this.#seenValues(chunk);
      for (const value of values) counts[this.scale.bucket(value)] += 1;
      counts[UNSEEN] += chunk.pieces.length - values.length;
    }
    return counts;
  }

  // Paint these chunks, [view, chunk], over the next frames.
  paint(pairs) {
    this.#due = new Map(pairs);
    this.#schedule();
  }

  // The view is out of sight: its words become one text again, unless that would tear a selection.
  release(view) {
    this.#due.delete(view);
    const words = view.querySelector(".words");
    if (!words?.firstElementChild || getSelection().containsNode(words, true)) return;
    words.textContent = words.textContent;
    this.#painted.delete(view);
  }

  // Which token of its chunk an element is; -1 if it is none.
  placeOf(view, target) {
    return this.#painted.get(view)?.spans.indexOf(target) ?? -1;
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
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

  #paintChunk(view, chunk) {
    const { spans, levels } = this.#spansOf(view, chunk);
    const values = this.values(chunk);
    let [changes, peak] = [0, -1];
    for (let place = 0; place < spans.length; place += 1) {
      const level = this.#level(chunk, values?.[place], levels[place]);
      if (level !== UNSEEN && level > peak) peak = level;
      if (level === levels[place]) continue;
      levels[place] = level;
      spans[place].className = level === UNSEEN ? "" : `b${level}`;
      changes += 1;
    }
    view.dataset.peak = peak < 0 ? "none" : peak;
    return changes;
  }

  #level(chunk, value, earlier) {
    return value === undefined || this.#isUnseen(chunk, value) ? UNSEEN : this.scale.settled(value, earlier);
  }

  #spansOf(view, chunk) {
    const known = this.#painted.get(view);
    if (known) return known;
    const words = view.querySelector(".words");
    if (!words.firstElementChild) {
      words.replaceChildren(
        ...chunk.pieces.map((piece) => {
          const span = document.createElement("span");
          span.textContent = piece;
          return span;
        }),
      );
    }
    const made = { spans: [...words.children], levels: new Uint8Array(chunk.pieces.length).fill(NONE) };
    this.#painted.set(view, made);
    return made;
  }

  // Words of the newest exchange begin at full brightness; as long as they have it, nothing was found out about them.
  #isUnseen(chunk, value) {
    return this.mode === "brightness" && value >= NEW_BRIGHTNESS && this.#isNew(chunk);
  }

  #isNew({ turn }) {
    return compareNumbers(turn, this.#newest) >= 0;
  }

  #seenValues(chunk) {
    const values = this.values(chunk) ?? [];
    return this.mode === "brightness" && this.#isNew(chunk) ? values.filter((value) => value < NEW_BRIGHTNESS) : values;
  }

  #findAges() {
    const total = this.chunks.reduce((sum, chunk) => sum + chunk.pieces.length, 0);
    let start = 0;
    this.#ages.clear();
    for (const chunk of this.chunks) {
      this.#ages.set(chunk.id, Float32Array.from(chunk.pieces, (_, place) => (NEW_BRIGHTNESS * (start + place)) / total));
      start += chunk.pieces.length;
    }
  }
}
