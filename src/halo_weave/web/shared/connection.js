// A WebSocket that comes back by itself and goes on exactly where it was.

const SHORTEST_WAIT = 300;
const LONGEST_WAIT = 5000;
const FINAL = new Set([4001, 4002, 4003, 4404]); // the window was closed, cannot be opened, too many tabs, or no such window

export class Connection extends EventTarget {
  #path;
  #seen;
  #socket = null;
  #wait = SHORTEST_WAIT;
  #waiting = null; // the timer of the next try
  #isClosed = false;

  // `seen` gives the number of the last event that is known, or undefined for a fresh start.
  constructor(path, seen) {
    super();
    this.#path = path;
    this.#seen = seen;
    this.#open();
  }

  close() {
    this.#isClosed = true;
    this.#socket?.close();
  }

  // Do not wait any longer: there are signs that the server is back.
  hurry() {
    if (this.#waiting !== null) this.#open();
  }

  #open() {
    clearTimeout(this.#waiting);
    this.#waiting = null;
    if (this.#isClosed) return;
    const seen = this.#seen?.();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const query = seen === undefined ? "" : `?since=${seen}`;
    const socket = new WebSocket(`${scheme}//${location.host}${this.#path}${query}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#wait = SHORTEST_WAIT;
      this.dispatchEvent(new CustomEvent("open"));
    };
    socket.onmessage = (message) => this.dispatchEvent(new CustomEvent("message", { detail: JSON.parse(message.data) }));
    socket.onclose = ({ code, reason }) => {
      if (this.#isClosed || this.#socket !== socket) return;
      if (FINAL.has(code)) {
        this.#isClosed = true;
        this.dispatchEvent(new CustomEvent("ended", { detail: reason }));
        return;
      }
      this.dispatchEvent(new CustomEvent("lost"));
      this.#waiting = setTimeout(() => this.#open(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    };
  }
}
