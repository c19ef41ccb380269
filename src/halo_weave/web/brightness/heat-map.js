// What the colours of the context stand for: brightness, attention or age, and the scale of it.

/** @import { HeatEvents } from "../shared/events.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { compareNumbers } from "../shared/chunk-key.js";
import { Emitter } from "../shared/emitter.js";
import { BUCKETS, Scale } from "./scale.js";

/** @typedef {"brightness" | "attention" | "age"} HeatMode */

export const NEW_BRIGHTNESS = 10000;
export const UNSEEN = BUCKETS; // the level of tokens that no look has met yet: neither bright nor dim, but plain

/** @extends {Emitter<HeatEvents>} */
export class HeatMap extends Emitter {
  scale = new Scale();
  /** @type {HeatMode} */
  #mode = "brightness";
  #isLinear = false;
  /** @type {readonly Chunk[]} */
  #chunks = [];
  #newest = ""; // the turn with which the newest exchange begins
  /** @type {Map<string, Float32Array>} */
  #ages = new Map();

  get mode() {
    return this.#mode;
  }

  /** All chunks in context, in order, as of the last fit. */
  get chunks() {
    return this.#chunks;
  }

  /**
   * @param {HeatMode} mode
   * @param {boolean} isLinear whether the colours are spread evenly between lowest and highest
   */
  setMode(mode, isLinear) {
    this.#mode = mode;
    this.#isLinear = isLinear;
    this.emit("mode");
  }

  /**
   * Find the scale for these chunks.
   * @param {readonly Chunk[]} chunks
   */
  fit(chunks) {
    this.#chunks = chunks;
    this.#newest = (chunks.findLast(({ role }) => role === "user") ?? chunks.at(-1))?.turn ?? "";
    if (this.#mode === "age") this.#findAges();
    this.scale.fit(chunks.map((chunk) => this.#seenValues(chunk)), this.#isLinear);
    this.emit("scaled");
  }

  /**
   * What the colours stand for, for each token; null if it is not known.
   * @param {Chunk} chunk
   */
  values(chunk) {
    if (this.#mode === "attention") return chunk.attention ?? null;
    if (this.#mode === "age") return this.#ages.get(chunk.id) ?? null;
    return chunk.brightness;
  }

  /**
   * The bucket of the chunk's brightest token, or UNSEEN.
   * @param {Chunk} chunk
   */
  peak(chunk) {
    const values = this.#seenValues(chunk);
    let peak = -Infinity;
    for (const value of values) if (value > peak) peak = value;
    return values.length ? this.scale.bucket(peak) : UNSEEN;
  }

  /** How many tokens are on each level. */
  histogram() {
    /** @type {number[]} */
    const counts = new Array(BUCKETS + 1).fill(0);
    for (const chunk of this.#chunks) {
      const values = this.#seenValues(chunk);
      for (const value of values) counts[this.scale.bucket(value)] += 1;
      counts[UNSEEN] += chunk.pieces.length - values.length;
    }
    return counts;
  }

  /**
   * The level of a value that had another level before.
   * @param {Chunk} chunk
   * @param {number | undefined} value
   * @param {number} earlier
   */
  level(chunk, value, earlier) {
    return value === undefined || this.#isUnseen(chunk, value) ? UNSEEN : this.scale.settled(value, earlier);
  }

  /**
   * Tokens of the newest exchange begin at full brightness; as long as they have it, nothing was found out about them.
   * @param {Chunk} chunk
   * @param {number} value
   */
  #isUnseen(chunk, value) {
    return this.#mode === "brightness" && value >= NEW_BRIGHTNESS && this.#isNew(chunk);
  }

  /** @param {Chunk} chunk */
  #isNew({ turn }) {
    return compareNumbers(turn, this.#newest) >= 0;
  }

  /**
   * @param {Chunk} chunk
   * @returns {Float32Array | Uint16Array}
   */
  #seenValues(chunk) {
    const values = this.values(chunk) ?? new Float32Array();
    return this.#mode === "brightness" && this.#isNew(chunk) ? values.filter((value) => value < NEW_BRIGHTNESS) : values;
  }

  #findAges() {
    const total = this.#chunks.reduce((sum, chunk) => sum + chunk.pieces.length, 0);
    let start = 0;
    this.#ages.clear();
    for (const chunk of this.#chunks) {
      this.#ages.set(chunk.id, Float32Array.from(chunk.pieces, (_, place) => (NEW_BRIGHTNESS * (start + place)) / total));
      start += chunk.pieces.length;
    }
  }
}
