// What the colours of the context stand for, and the scale of it. Punctuation and white space are out of the scale: every
// model looks at them, whatever the text is about.

/** @import { HeatEvents } from "../shared/events.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { compareNumbers } from "../shared/chunk-key.js";
import { Emitter } from "../shared/emitter.js";
import { BUCKETS, Scale } from "./scale.js";

/**
 * What the newest message looks at, brightness, the attention of the last step, the order in which chunks would leave,
 * or age.
 * @typedef {"message" | "brightness" | "attention" | "keeping" | "age"} HeatMode
 */

/** @type {readonly HeatMode[]} */
export const MODES = ["message", "brightness", "attention", "keeping", "age"];
export const NEW_BRIGHTNESS = 10000;
export const UNSEEN = BUCKETS; // the level of tokens of which nothing is known: neither bright nor dim, but plain
export const OUT_OF_SCALE = BUCKETS + 1;
const STORAGE_KEY = "halo-heat";

/** @extends {Emitter<HeatEvents>} */
export class HeatMap extends Emitter {
  scale = new Scale();
  /** @type {HeatMode} */
  #chosen = MODES.find((mode) => mode === localStorage.getItem(STORAGE_KEY)) ?? "message";
  #isLinear = false;
  #isPast = false;
  #hasReader = true;
  /** @type {readonly Chunk[]} */
  #chunks = [];
  #newest = ""; // the turn with which the newest exchange begins
  /** @type {ReadonlyMap<string, Uint16Array>} */
  #looks = new Map();
  /** @type {ReadonlyMap<string, number>} */
  #places = new Map();
  /** @type {Map<string, Float32Array>} */
  #ages = new Map();
  /** @type {WeakMap<readonly string[], Uint8Array>} */
  #words = new WeakMap(); // by the pieces of a chunk: 1 for each token with a letter or a digit

  /** What the person wants to see. */
  get chosen() {
    return this.#chosen;
  }

  /** What is shown: of the past, and as long as nothing is known of the newest message's looks, it is brightness. */
  get mode() {
    return this.#isPast || (this.#chosen === "message" && !this.#looks.size) ? "brightness" : this.#chosen;
  }

  get hasReader() {
    return this.#hasReader;
  }

  get isPast() {
    return this.#isPast;
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
    this.#chosen = mode;
    this.#isLinear = isLinear;
    localStorage.setItem(STORAGE_KEY, mode);
    this.emit("mode");
  }

  /** @param {boolean} isPast whether an earlier context is shown, of which only brightness is known */
  setPast(isPast) {
    this.#isPast = isPast;
    this.emit("mode");
  }

  /**
   * @param {ReadonlyMap<string, Uint16Array>} looks of the newest message, for each token of a chunk, by its key
   * @param {{ hasReader: boolean }} source whether a reader reads along, so that looks can be known
   */
  setLooks(looks, { hasReader }) {
    this.#looks = looks;
    this.#hasReader = hasReader;
    this.emit("mode");
  }

  /** @param {ReadonlyMap<string, number>} places of chunks in the order in which they would leave, by key */
  setPlaces(places) {
    this.#places = places;
    this.emit("mode");
  }

  /** Whether it is known what the newest message looks at in this chunk.
   * @param {Chunk} chunk
   */
  hasLooks(chunk) {
    return this.#looks.has(chunk.id);
  }

  /**
   * Find the scale for these chunks.
   * @param {readonly Chunk[]} chunks
   */
  fit(chunks) {
    this.#chunks = chunks;
    this.#newest = (chunks.findLast(({ role }) => role === "user") ?? chunks.at(-1))?.turn ?? "";
    if (this.mode === "age") this.#findAges();
    // A message looks at few words; quantiles would show the others as if it looked at half of them.
    this.scale.fit(chunks.map((chunk) => this.#seenValues(chunk)), this.#isLinear || this.mode === "message");
    this.emit("scaled");
  }

  /**
   * What the colours stand for, for each token; null if it is not known.
   * @param {Chunk} chunk
   */
  values(chunk) {
    switch (this.mode) {
      case "message":
        return this.#looks.get(chunk.id) ?? null;
      case "attention":
        return chunk.attention ?? null;
      case "keeping":
        return new Float32Array(chunk.pieces.length).fill(this.#places.get(chunk.id) ?? this.#places.size);
      case "age":
        return this.#ages.get(chunk.id) ?? null;
      default:
        return chunk.brightness;
    }
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

  /** How many words are on each level. */
  histogram() {
    /** @type {number[]} */
    const counts = new Array(BUCKETS + 1).fill(0);
    for (const chunk of this.#chunks) {
      const values = this.#seenValues(chunk);
      for (const value of values) counts[this.scale.bucket(value)] += 1;
      counts[UNSEEN] += this.#wordsOf(chunk).reduce((sum, isWord) => sum + isWord, 0) - values.length;
    }
    return counts;
  }

  /**
   * The level of a token that had another level before.
   * @param {Chunk} chunk
   * @param {number} place
   * @param {number | undefined} value
   * @param {number} earlier
   */
  level(chunk, place, value, earlier) {
    if (!this.#wordsOf(chunk)[place]) return OUT_OF_SCALE;
    return value === undefined || this.#isUnseen(chunk, value) ? UNSEEN : this.scale.settled(value, earlier);
  }

  /**
   * Tokens of the newest exchange begin at full brightness; as long as they have it, nothing was found out about them.
   * @param {Chunk} chunk
   * @param {number} value
   */
  #isUnseen(chunk, value) {
    return this.mode === "brightness" && value >= NEW_BRIGHTNESS && this.#isNew(chunk);
  }

  /** @param {Chunk} chunk */
  #isNew({ turn }) {
    return compareNumbers(turn, this.#newest) >= 0;
  }

  /**
   * The values of the chunk's words that are known.
   * @param {Chunk} chunk
   * @returns {Float32Array | Uint16Array}
   */
  #seenValues(chunk) {
    const words = this.#wordsOf(chunk);
    const values = this.values(chunk) ?? new Float32Array();
    const isBare = this.mode === "brightness" && this.#isNew(chunk);
    return values.filter((value, place) => words[place] && !(isBare && value >= NEW_BRIGHTNESS));
  }

  /** @param {Chunk} chunk */
  #wordsOf({ pieces }) {
    const known = this.#words.get(pieces);
    if (known) return known;
    const words = Uint8Array.from(pieces, (piece) => Number(/[\p{L}\p{N}]/u.test(piece)));
    this.#words.set(pieces, words);
    return words;
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
