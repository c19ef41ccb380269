// What this page has seen of the windows, moment by moment. All of it together has a limit in bytes: the oldest moments
// of the window that was looked at longest ago go first.

const MOMENT_BYTES = 200;
const CHUNK_BYTES = 300;
const TOKEN_BYTES = 48; // its brightness and its text, as if no two moments shared a text

export class Moments {
  #mostBytes;
  #mostOfWindow;
  #bytes = 0;
  #windows = new Map(); // moments by window id; the window that was looked at last stands last

  constructor({ mostBytes, mostOfWindow }) {
    this.#mostBytes = mostBytes;
    this.#mostOfWindow = mostOfWindow;
  }

  get bytes() {
    return this.#bytes;
  }

  // The moments of a window that is looked at now, the newest last.
  of(id) {
    const moments = this.#windows.get(id) ?? [];
    this.#windows.delete(id);
    this.#windows.set(id, moments);
    return moments;
  }

  // The newest moment of the window that is looked at stays, however large it is.
  add(id, moment) {
    const moments = this.of(id);
    moments.push(moment);
    this.#bytes += bytesOf(moment);
    if (moments.length > this.#mostOfWindow) this.#dropOldest(moments);
    while (this.#bytes > this.#mostBytes && this.#dropLeastLookedAt());
  }

  #dropLeastLookedAt() {
    const [id, moments] = this.#windows.entries().next().value;
    const isLast = this.#windows.size === 1;
    if (isLast && moments.length === 1) return false;
    if (moments.length) this.#dropOldest(moments);
    if (!moments.length) this.#windows.delete(id);
    return true;
  }

  #dropOldest(moments) {
    this.#bytes -= bytesOf(moments.shift());
  }
}

const bytesOf = ({ chunks }) => chunks.reduce((sum, { pieces }) => sum + CHUNK_BYTES + TOKEN_BYTES * pieces.length, MOMENT_BYTES);
