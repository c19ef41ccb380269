// What the parts of the page share: the open window, the program's status, and ways to tell the person something.

import { Connection } from "./connection.js";
import { WindowModel } from "./model.js";
import { get, windowApi } from "./api.js";

class App extends EventTarget {
  model = new WindowModel();
  status = null; // of the program: engine, memory, jobs
  view = localStorage.getItem("halo-view") ?? "read";
  isLost = false; // whether the server was away, and this tab has not heard since what became of its window
  #connection = null;
  #windowId = null;

  get windowId() {
    return this.#windowId;
  }

  get api() {
    return windowApi(this.#windowId, () => this.model.seen);
  }

  // Switch to a window. The model object stays the same; it tells "reset".
  open(id) {
    this.#connection?.close();
    this.#windowId = id;
    localStorage.setItem("halo-window", id);
    this.model.seen = undefined;
    this.isLost = false;
    const connection = new Connection(`/api/windows/${encodeURIComponent(id)}/events`, () => this.model.seen);
    let isFirst = true;
    connection.addEventListener("message", ({ detail }) => {
      if (this.#connection !== connection) return;
      if (detail.state) this.model.applyState(detail.state);
      if (detail.events) this.model.applyEvents(detail.events);
      if (isFirst || this.isLost) this.#setLost(false);
      isFirst = false;
    });
    connection.addEventListener("lost", () => this.#setLost(true));
    connection.addEventListener("ended", ({ detail }) => {
      if (this.isLost) this.#setLost(false);
      const action = { label: "Open it again", run: () => this.open(id) };
      this.say(`This window is not followed any more: ${detail || "the server ended it"}.`, { action, seconds: 600 });
    });
    this.#connection = connection;
    this.#tell("window", id);
  }

  followProgram() {
    const connection = new Connection("/api/events");
    connection.addEventListener("message", ({ detail }) => {
      const news = detail.state ? ["status", "windows", "jobs"].map((kind) => ({ kind, data: detail.state[kind] })) : (detail.events ?? []);
      for (const { kind, data } of news) {
        if (kind === "status") this.setStatus(data);
        else this.#tell(`program-${kind}`, data);
      }
    });
    connection.addEventListener("open", () => {
      this.#connection?.hurry();
      this.refreshStatus();
    });
  }

  async refreshStatus() {
    const before = this.status;
    try {
      const status = await get("/api/status");
      if (this.status === before) this.setStatus(status); // else an event came meanwhile, and it may be newer
    } catch (error) {
      this.#tell("lost");
    }
  }

  setStatus(status) {
    this.status = status;
    this.#tell("status", status);
  }

  setView(view) {
    this.view = view;
    localStorage.setItem("halo-view", view);
    this.#tell("view", view);
  }

  // Leave the past that the timeline shows, if it shows one.
  showNow() {
    this.#tell("now");
  }

  // Scroll to a chunk, by its key as text ("12.0.user").
  jumpTo(key) {
    this.#tell("jump", key);
  }

  // Do something that may be refused; the server's sentence is shown.
  async attempt(action) {
    try {
      return await action();
    } catch (error) {
      this.say(error.message, { isError: true });
      return undefined;
    }
  }

  // A short message; `action` is {label, run} for a button in it.
  say(text, { isError = false, action = null, seconds = 8 } = {}) {
    const toast = document.createElement("div");
    toast.className = isError ? "toast error" : "toast";
    const words = document.createElement("p");
    words.textContent = text;
    toast.append(words);
    const end = () => toast.remove();
    if (action) {
      const button = document.createElement("button");
      button.className = "outlined";
      button.textContent = action.label;
      button.onclick = () => {
        end();
        action.run();
      };
      toast.append(button);
    }
    const close = document.createElement("button");
    close.setAttribute("aria-label", "Dismiss");
    close.textContent = "×";
    close.onclick = end;
    toast.append(close);
    document.getElementById("toasts").append(toast);
    this.announce(text);
    setTimeout(end, 1000 * seconds);
  }

  // For a screen reader; the transcript itself is no live region.
  announce(text) {
    document.getElementById("announcer").textContent = text;
  }

  #setLost(isLost) {
    this.isLost = isLost;
    this.#tell(isLost ? "lost" : "connected");
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const app = new App();
