// One window as this tab knows it. The server's state and events come in; what changed goes out as DOM events:
// reset, chunks (detail: keys), message, token (detail: text), tools, undeleted (detail: keys), brightness, meta, status, notice, error.

import { keyText } from "./api.js";

export class WindowModel extends EventTarget {
  seen = undefined; // the number of the last event that is known
  info = null; // id, name, budget, usable, overrides …, everything of the state but chunks and writing
  chunks = []; // in order of place
  writing = null; // the reply under way, or null
  status = "";
  #byKey = new Map();

  get(key) {
    return this.#byKey.get(key);
  }

  // Whether the server would refuse a message: something waits or is under way. Its last sign is an empty status.
  get isBusy() {
    return Boolean(this.writing || this.status || typeof this.info?.queue === "number");
  }

  applyState(state) {
    const { chunks, writing, ...info } = state;
    this.seen = state.event;
    this.info = info;
    this.status = state.doing ?? "";
    this.#byKey.clear();
    this.chunks = [];
    for (const chunk of chunks) this.#add(chunk);
    this.#sort();
    this.writing = writing?.length || state.doing === "answering" ? newWriting(writing ?? []) : null;
    this.#tell("reset");
  }

  applyEvents(events) {
    for (const event of events) {
      if (this.seen !== undefined && event.number <= this.seen) continue;
      this.seen = event.number;
      this.#apply(event.kind, event.data);
    }
  }

  #apply(kind, data) {
    switch (kind) {
      case "message":
        this.#addAll(data.chunks);
        this.writing = newWriting([]);
        this.#tell("message");
        this.#tell("token", "");
        break;
      case "token":
        this.writing ??= newWriting([]);
        this.writing.pieces.push(data.text);
        this.#tell("token", data.text);
        break;
      case "written":
        this.writing = newWriting([]);
        this.#addAll(data.chunks);
        this.#tell("token", "");
        break;
      case "tool": {
        const { chunks, ...call } = data;
        this.info.tool_calls = [...(this.info.tool_calls ?? []), call];
        this.#addAll(chunks);
        this.#tell("tools");
        break;
      }
      case "reply":
        this.writing = null;
        this.#addAll(data.chunks);
        this.status = "tidying up";
        this.#tell("status");
        break;
      case "edited":
      case "resurrected":
        this.#addAll(data.chunks ?? []);
        break;
      case "undeleted":
        this.#addAll(data.chunks ?? []);
        this.#tell("undeleted", data.keys.map(keyText)); // also those that are in the memory alone
        break;
      case "buried":
        this.#removeAll(data.chunks.map((one) => keyText(one.key)));
        break;
      case "deleted":
        this.#removeAll(data.keys.map(keyText));
        break;
      case "merged":
        this.#removeAll([keyText(data.gone), keyText(data.key)]);
        if (data.chunk) this.#addAll([data.chunk]);
        break;
      case "pinned":
      case "unpinned":
        this.#pin(keyText(data.key), kind === "pinned");
        break;
      case "brightness":
        this.#recolour(data);
        break;
      case "changed":
        Object.assign(this.info, data);
        this.#tell("meta");
        break;
      case "stats":
        this.info.stats = { ...this.info.stats, ...data };
        for (const name of ["meter", "tokens", "budget", "next_to_bury", "next_keys"]) if (name in data) this.info[name] = data[name];
        this.#tell("meta");
        break;
      case "queue":
        this.info.queue = data.place;
        this.#tell("status");
        break;
      case "status":
        this.status = data.text;
        if (!data.text) this.#endWriting();
        this.#tell("status");
        break;
      case "notice":
      case "error":
        if (kind === "error") this.#endWriting();
        this.#tell(kind, data.text);
        break;
    }
  }

  #add(chunk) {
    const key = keyText(chunk.key);
    this.#byKey.set(key, {
      ...chunk,
      id: key,
      turn: chunk.key.turn,
      role: chunk.key.role,
      text: chunk.pieces.join(""),
      brightness: Float32Array.from(chunk.brightness),
      marks: chunk.marks ?? {},
    });
    return key;
  }

  #addAll(chunks) {
    const keys = chunks.map((chunk) => this.#add(chunk));
    this.#sort();
    if (keys.length) this.#tell("chunks", keys);
  }

  #removeAll(keys) {
    for (const key of keys) this.#byKey.delete(key);
    this.#sort();
    this.#tell("chunks", keys);
  }

  #endWriting() {
    if (!this.writing) return;
    this.writing = null;
    this.#tell("token", "");
  }

  #pin(key, isPinned) {
    const chunk = this.#byKey.get(key);
    if (!chunk) return;
    chunk.is_pinned = isPinned;
    if (isPinned) chunk.brightness.fill(10000);
    this.#tell("chunks", [key]);
  }

  // Events carry the values of all living words in order, as the layout had them when the reply began.
  #recolour({ brightness, attention }) {
    const values = new Int16Array(bytesOf(brightness));
    const looks = new Uint16Array(bytesOf(attention ?? ""));
    const words = this.chunks.reduce((sum, chunk) => sum + chunk.pieces.length, 0);
    if (values.length !== words) return; // of a layout that is not on the page any more; the next state tells
    let start = 0;
    for (const chunk of this.chunks) {
      const end = start + chunk.pieces.length;
      chunk.brightness.set(values.subarray(start, end));
      if (looks.length === words) chunk.attention = looks.subarray(start, end);
      start = end;
    }
    this.#tell("brightness");
  }

  #sort() {
    this.chunks = [...this.#byKey.values()].sort((a, b) => compareNumbers(a.turn, b.turn) || a.key.chunk - b.key.chunk);
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

// Decimal texts without an upper limit.
export const compareNumbers = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

// By hand, because a call for each byte would take most of a frame.
function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
  const signs = atob(base64);
  const bytes = new Uint8Array(signs.length);
  for (let place = 0; place < signs.length; place += 1) bytes[place] = signs.charCodeAt(place);
  return bytes.buffer;
}

const newWriting = (pieces) => ({ pieces: [...pieces] });
