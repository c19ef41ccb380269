// The open window as this tab knows it. The server's state and events come in and change it; nothing else does, but for
// the few methods that say what this tab has just done. Views read it and follow its events.

/** @import { WindowEvents } from "./events.js" */
/** @import { ChunkRecord, Key, Overrides, Role, WindowChange, WindowEvent, WindowInfo, WindowState } from "./records.js" */
import { compareNumbers, keyText } from "./chunk-key.js";
import { Emitter } from "./emitter.js";

/**
 * A chunk in context. `brightness` and `attention` have an entry per token and change in place.
 * @typedef {Omit<ChunkRecord, "brightness" | "marks"> & Required<Pick<ChunkRecord, "marks">> & {
 *   id: string, turn: string, role: Role, text: string, brightness: Float32Array, attention?: Uint16Array
 * }} Chunk
 */

/** @typedef {{ chunk: Chunk, reason: string }} Departure a chunk that left the context, and why */

/** @typedef {{ readonly pieces: readonly string[] }} Writing the reply under way */

const PINNED_BRIGHTNESS = 10000;

/** @extends {Emitter<WindowEvents>} */
export class WindowModel extends Emitter {
  /** @type {number | undefined} */
  #seen = undefined;
  /** @type {WindowInfo | null} */
  #info = null;
  /** @type {Chunk[]} */
  #chunks = [];
  /** @type {{ pieces: string[] } | null} */
  #writing = null;
  #status = "";
  /** @type {{ read: number, total: number } | null} */
  #reading = null;
  /** @type {Map<string, Chunk>} */
  #byKey = new Map();

  /** The number of the last event that is known. */
  get seen() {
    return this.#seen;
  }

  /** @returns {Readonly<WindowInfo> | null} */
  get info() {
    return this.#info;
  }

  /**
   * In order of position.
   * @returns {readonly Chunk[]}
   */
  get chunks() {
    return this.#chunks;
  }

  /** @returns {Writing | null} */
  get writing() {
    return this.#writing;
  }

  get status() {
    return this.#status;
  }

  /** How many tokens the model has read of those that it reads before it writes; null if it is not reading, or for a moment only. */
  get reading() {
    return this.#reading;
  }

  /**
   * @param {string} key
   * @returns {Chunk | undefined}
   */
  get(key) {
    return this.#byKey.get(key);
  }

  /** Whether the server would refuse a message: one waits or is being answered. An empty status is the last sign of it. */
  get isBusy() {
    return Boolean(this.#writing || this.#status || typeof this.#info?.queue === "number");
  }

  /** Another window is being opened; its state comes next. */
  leave() {
    this.#seen = undefined;
  }

  /** @param {WindowState} state */
  applyState(state) {
    const { chunks, writing, ...info } = state;
    this.#seen = state.event;
    this.#info = info;
    this.#status = state.doing ?? "";
    this.#reading = null;
    this.#byKey.clear();
    for (const chunk of chunks) this.#add(chunk);
    this.#sort();
    this.#writing = writing?.length || state.doing === "answering" ? { pieces: [...(writing ?? [])] } : null;
    this.emit("reset");
  }

  /** @param {WindowEvent[]} events */
  applyEvents(events) {
    for (const event of events) {
      if (this.#seen !== undefined && event.number <= this.#seen) continue;
      this.#seen = event.number;
      if (this.#info) this.#apply(event, this.#info);
    }
  }

  /**
   * The list of windows knows another name.
   * @param {string} name
   */
  setName(name) {
    this.#setInfo({ name });
  }

  /** @param {boolean} isCaptured */
  setCaptured(isCaptured) {
    this.#setInfo({ is_captured: isCaptured });
  }

  /** @param {Overrides} overrides */
  setOverrides(overrides) {
    this.#setInfo({ overrides });
  }

  /** @param {Partial<WindowInfo>} changes */
  #setInfo(changes) {
    if (!this.#info) return;
    Object.assign(this.#info, changes);
    this.emit("meta");
  }

  /**
   * @param {WindowChange} change
   * @param {WindowInfo} info
   */
  #apply({ kind, data }, info) {
    switch (kind) {
      case "message":
        this.#addAll(data.chunks);
        this.#writing = { pieces: [] };
        this.emit("message");
        this.emit("token", "");
        break;
      case "token":
        this.#writing ??= { pieces: [] };
        this.#writing.pieces.push(data.text);
        this.#countToken(info);
        this.emit("token", data.text);
        break;
      case "written":
        this.#writing = { pieces: [] };
        this.#addAll(data.chunks);
        this.emit("token", "");
        break;
      case "tool": {
        const { chunks, ...call } = data;
        info.tool_calls = [...(info.tool_calls ?? []), call];
        this.#addAll(chunks);
        this.emit("tools");
        break;
      }
      case "reply":
        if (!data.chunks.length) this.#endWriting(); // stopped before the first word
        this.#writing = null;
        this.#addAll(data.chunks);
        if (!data.chunks.length) this.emit("token", "");
        this.#status = "finishing";
        this.emit("status");
        break;
      case "edited":
      case "resurrected":
        this.#addAll(data.chunks ?? []);
        break;
      case "undeleted":
        this.#addAll(data.chunks ?? []);
        this.emit("undeleted", data.keys.map(keyText)); // also those that are in the memory alone
        if (data.keys.some((key) => !this.#byKey.has(keyText(key)))) this.emit("unknown");
        break;
      case "buried":
        this.#bury(data.chunks);
        break;
      case "deleted":
        this.emit("gone", data.keys.map(keyText));
        this.#removeAll(data.keys.map(keyText));
        break;
      case "merged":
        this.emit("gone", [keyText(data.gone), keyText(data.key)]);
        this.#removeAll([keyText(data.gone), keyText(data.key)]);
        if (data.chunk) this.#addAll([data.chunk]);
        else this.emit("unknown");
        break;
      case "pinned":
      case "unpinned":
        this.#pin(keyText(data.key), kind === "pinned");
        break;
      case "brightness":
        this.#recolour(data);
        break;
      case "changed":
        this.#setInfo(data);
        break;
      case "stats": {
        const { meter, tokens, budget, buried, buried_tokens: buriedTokens, next_to_bury: nextToBury, next_keys: nextKeys, ...figures } = data;
        info.stats = { ...info.stats, ...figures };
        if (meter !== undefined) info.meter = meter;
        if (tokens !== undefined) info.tokens = tokens;
        if (budget !== undefined) info.budget = budget;
        if (buried !== undefined) info.buried = buried;
        if (buriedTokens !== undefined) info.buried_tokens = buriedTokens;
        if (nextToBury !== undefined) info.next_to_bury = nextToBury;
        if (nextKeys !== undefined) info.next_keys = nextKeys;
        this.emit("meta");
        break;
      }
      case "pending":
        info.pending = data.messages;
        this.emit("pending");
        break;
      case "queue":
        info.queue = data.place;
        this.emit("status");
        break;
      case "status":
        this.#status = data.text;
        this.#reading = data.read !== undefined && data.total !== undefined ? { read: data.read, total: data.total } : null;
        if (!data.text) this.#endWriting();
        this.emit("status");
        break;
      case "notice":
      case "error":
        if (kind === "error") this.#endWriting();
        this.emit(kind, data.text);
        break;
    }
  }

  /** @param {ChunkRecord} chunk */
  #add(chunk) {
    const id = keyText(chunk.key);
    this.#byKey.set(id, {
      ...chunk,
      id,
      turn: chunk.key.turn,
      role: chunk.key.role,
      text: chunk.pieces.join(""),
      brightness: Float32Array.from(chunk.brightness),
      marks: chunk.marks ?? {},
    });
    return id;
  }

  /** @param {ChunkRecord[]} chunks */
  #addAll(chunks) {
    const keys = chunks.map((chunk) => this.#add(chunk));
    this.#sort();
    if (keys.length) this.emit("chunks", keys);
  }

  /** @param {string[]} keys */
  #removeAll(keys) {
    for (const key of keys) this.#byKey.delete(key);
    this.#sort();
    this.emit("chunks", keys);
  }

  /** @param {{ key: Key, reason: string }[]} buried */
  #bury(buried) {
    /** @type {Departure[]} */
    const left = [];
    for (const { key, reason } of buried) {
      const chunk = this.#byKey.get(keyText(key));
      if (chunk) left.push({ chunk, reason });
    }
    this.emit("left", left); // before they are gone from here, so that they are always somewhere
    this.#removeAll(left.map(({ chunk }) => chunk.id));
    if (left.length < buried.length) this.emit("unknown");
  }

  /**
   * A token of the reply counts as soon as it is shown; the server's figures come again when the reply is complete.
   * @param {WindowInfo} info
   */
  #countToken(info) {
    info.tokens += 1;
    info.meter = { ...info.meter, current: info.meter.current + 1, free: Math.max(0, info.meter.free - 1) };
    this.emit("meta");
  }

  #endWriting() {
    if (!this.#writing) return;
    this.#writing = null;
    this.emit("token", "");
  }

  /**
   * @param {string} key
   * @param {boolean} isPinned
   */
  #pin(key, isPinned) {
    const chunk = this.#byKey.get(key);
    if (!chunk) return;
    chunk.is_pinned = isPinned;
    if (isPinned) chunk.brightness.fill(PINNED_BRIGHTNESS);
    this.emit("chunks", [key]);
  }

  /**
   * Events carry the values of all tokens in context in order, as the layout was when the reply began.
   * @param {{ brightness: string, attention?: string }} values in base64
   */
  #recolour({ brightness, attention }) {
    const values = new Int16Array(bytesOf(brightness));
    const looks = new Uint16Array(bytesOf(attention ?? ""));
    const tokens = this.#chunks.reduce((sum, chunk) => sum + chunk.pieces.length, 0);
    if (values.length !== tokens) return; // of a layout that the page no longer shows; the next state has new values
    let start = 0;
    for (const chunk of this.#chunks) {
      const end = start + chunk.pieces.length;
      chunk.brightness.set(values.subarray(start, end));
      if (looks.length === tokens) chunk.attention = looks.subarray(start, end);
      start = end;
    }
    this.emit("brightness");
  }

  #sort() {
    this.#chunks = [...this.#byKey.values()].sort((a, b) => compareNumbers(a.turn, b.turn) || a.key.chunk - b.key.chunk);
  }
}

/**
 * By hand, because a call for each byte would take most of a frame.
 * @param {string} base64
 */
export function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
  const signs = atob(base64);
  const bytes = new Uint8Array(signs.length);
  for (let place = 0; place < signs.length; place += 1) bytes[place] = signs.charCodeAt(place);
  return bytes.buffer;
}
