// What this page has seen of the windows, moment by moment. All of it together has a limit in bytes: the oldest moments
// of the window that was shown longest ago go first.

/** @import { Moment } from "../shared/events.js" */

const MOMENT_BYTES = 200;
const CHUNK_BYTES = 300;
const TOKEN_BYTES = 48; // its brightness and its text, as if no two moments shared a text

export class Moments {
  #mostBytes;
  #mostOfWindow;
  #bytes = 0;
  /** @type {Map<string, Moment[]>} */
  #windows = new Map(); // by window id; the window that was shown last stands last

  /** @param {{ mostBytes: number, mostOfWindow: number }} limits */
  constructor({ mostBytes, mostOfWindow }) {
    this.#mostBytes = mostBytes;
    this.#mostOfWindow = mostOfWindow;
  }

  get bytes() {
    return this.#bytes;
  }

  /**
   * The moments of the window that is shown now, the newest last.
   * @param {string} id
   */
  of(id) {
    const moments = this.#windows.get(id) ?? [];
    this.#windows.delete(id);
    this.#windows.set(id, moments);
    return moments;
  }

  /**
   * The newest moment of the window that is shown stays, however large it is.
   * @param {string} id
   * @param {Moment} moment
   */
  add(id, moment) {
    const moments = this.of(id);
    moments.push(moment);
    this.#bytes += bytesOf(moment);
    if (moments.length > this.#mostOfWindow) this.#dropOldest(moments);
    while (this.#bytes > this.#mostBytes && this.#dropLeastRecent());
  }

  #dropLeastRecent() {
    const [oldest] = this.#windows;
    if (!oldest) return false;
    const [id, moments] = oldest;
    const isLast = this.#windows.size === 1;
    if (isLast && moments.length === 1) return false;
    if (moments.length) this.#dropOldest(moments);
    if (!moments.length) this.#windows.delete(id);
    return true;
  }

  /** @param {Moment[]} moments */
  #dropOldest(moments) {
    const oldest = moments.shift();
    if (oldest) this.#bytes -= bytesOf(oldest);
  }
}

/** @param {Moment} moment */
const bytesOf = ({ chunks }) => chunks.reduce((sum, { pieces }) => sum + CHUNK_BYTES + TOKEN_BYTES * pieces.length, MOMENT_BYTES);
