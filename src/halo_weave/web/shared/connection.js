// A WebSocket that comes back by itself and continues after the last event that is known.

/** @import { ConnectionEvents } from "./events.js" */
import { Emitter } from "./emitter.js";
import { pause } from "./waiting.js";

const SHORTEST_WAIT = 300;
const LONGEST_WAIT = 5000;
const FINAL = new Set([4001, 4002, 4003, 4404]); // the window was closed, cannot be opened, too many tabs, or no such window

/**
 * @template News
 * @extends {Emitter<ConnectionEvents<News>>}
 */
export class Connection extends Emitter {
  #path;
  #seen;
  /** @type {WebSocket | null} */
  #socket = null;
  #wait = SHORTEST_WAIT;
  /** @type {AbortController | null} */
  #waiting = null; // for the next try
  #life = new AbortController();

  /**
   * @param {string} path
   * @param {() => number | undefined} [seen] the number of the last event that is known, or undefined for a fresh start
   */
  constructor(path, seen = () => undefined) {
    super();
    this.#path = path;
    this.#seen = seen;
    this.#open();
  }

  /** Aborted when the connection was closed or ended for good. */
  get signal() {
    return this.#life.signal;
  }

  close() {
    this.#life.abort();
    this.#waiting?.abort();
    this.#socket?.close();
  }

  /** Do not wait any longer: there are signs that the server is back. */
  hurry() {
    this.#waiting?.abort();
  }

  #open() {
    if (this.signal.aborted) return;
    const seen = this.#seen();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const query = seen === undefined ? "" : `?since=${seen}`;
    const socket = new WebSocket(`${scheme}//${location.host}${this.#path}${query}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#wait = SHORTEST_WAIT;
      this.emit("open", undefined);
    };
    socket.onmessage = (message) => this.emit("news", JSON.parse(message.data));
    socket.onclose = ({ code, reason }) => {
      if (this.signal.aborted || this.#socket !== socket) return;
      if (FINAL.has(code)) {
        this.emit("ended", reason);
        this.#life.abort();
      } else this.#openLater();
    };
  }

  async #openLater() {
    this.emit("lost", undefined);
    this.#waiting = new AbortController();
    const wait = this.#wait;
    this.#wait = Math.min(2 * wait, LONGEST_WAIT);
    await pause(wait, this.#waiting.signal);
    this.#waiting = null;
    this.#open();
  }
}
