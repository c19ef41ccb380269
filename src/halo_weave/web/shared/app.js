// The page as a whole: the open window, the program, the view, and the connections that keep them up to date.

/** @import { PageEvents, View } from "./events.js" */
/** @import { ProgramNews, WindowNews } from "./records.js" */
import { HeatMap } from "../brightness/heat-map.js";
import { programApi, windowApi } from "./api.js";
import { Connection } from "./connection.js";
import { Emitter } from "./emitter.js";
import { say } from "./notices.js";
import { ProgramModel } from "./program-model.js";
import { WindowModel } from "./window-model.js";

/** @extends {Emitter<PageEvents>} */
class App extends Emitter {
  model = new WindowModel();
  program = new ProgramModel();
  heat = new HeatMap();
  /** @type {View} */
  #view = localStorage.getItem("halo-view") === "weave" ? "weave" : "read";
  #isLost = false;
  /** @type {Connection<WindowNews> | null} */
  #connection = null;
  #windowId = "";

  /** Empty before the first window is open. */
  get windowId() {
    return this.#windowId;
  }

  get view() {
    return this.#view;
  }

  /** Whether the server was away, and this tab does not know yet what happened to its window meanwhile. */
  get isLost() {
    return this.#isLost;
  }

  get api() {
    return windowApi(this.#windowId, () => this.model.seen);
  }

  /**
   * Switch to a window. The model stays the same object; it emits "reset".
   * @param {string} id
   */
  open(id) {
    this.#connection?.close();
    this.#windowId = id;
    localStorage.setItem("halo-window", id);
    this.model.leave();
    this.#isLost = false;
    /** @type {Connection<WindowNews>} */
    const connection = new Connection(`/api/windows/${encodeURIComponent(id)}/events`, () => this.model.seen);
    this.#connection = connection;
    const until = { signal: connection.signal };
    let isFirst = true;
    connection.on("news", ({ state, events }) => {
      if (state) this.model.applyState(state);
      if (events) this.model.applyEvents(events);
      if (isFirst || this.#isLost) this.#setLost(false);
      isFirst = false;
    }, until);
    connection.on("lost", () => this.#setLost(true), until);
    connection.on("ended", (reason) => {
      if (this.#isLost) this.#setLost(false);
      const action = { label: "Reopen", run: () => this.open(id) };
      say(`This window no longer updates: ${reason || "the server closed it"}.`, { action, seconds: 600 });
    }, until);
    this.emit("window", id);
  }

  followProgram() {
    /** @type {Connection<ProgramNews>} */
    const connection = new Connection("/api/events");
    const until = { signal: connection.signal };
    connection.on("news", (news) => this.program.apply(news), until);
    connection.on("open", () => {
      this.#connection?.hurry();
      this.refreshStatus();
    }, until);
  }

  async refreshStatus() {
    const before = this.program.status;
    try {
      const status = await programApi.status();
      if (this.program.status === before) this.program.setStatus(status); // else an event came meanwhile, and it may be newer
    } catch {
      this.emit("lost");
    }
  }

  /** @param {View} view */
  setView(view) {
    this.#view = view;
    localStorage.setItem("halo-view", view);
    this.emit("view", view);
  }

  /** Leave the past that the timeline shows, if it shows one. */
  showNow() {
    this.emit("now");
  }

  /**
   * Scroll to a chunk.
   * @param {string} key as text ("12.0.user")
   */
  jumpTo(key) {
    this.emit("jump", key);
  }

  /**
   * Scroll to a chunk in the window that wrote it.
   * @param {string} windowId
   * @param {string} key as text
   */
  async goTo(windowId, key) {
    if (windowId !== this.#windowId) {
      this.open(windowId);
      await this.model.next("reset");
    }
    if (windowId === this.#windowId) this.jumpTo(key);
  }

  /** @param {boolean} isLost */
  #setLost(isLost) {
    this.#isLost = isLost;
    if (isLost) this.emit("lost");
    else this.emit("connected");
  }
}

export const app = new App();
