// Asks the server for what the colours stand for, as long as somebody sees them: what the newest message looks at, and
// the order in which chunks would leave.

/** @import { ChunkHeat } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { compareNumbers, keyText } from "../shared/chunk-key.js";
import { Part } from "../shared/part.js";
import { bytesOf } from "../shared/window-model.js";

const SETTLED_MS = 200;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

/** Has nothing to show. */
export class HeatLoader extends Part {
  #isLoading = false;
  #isStale = false;
  #retryMs = FIRST_RETRY_MS;
  #retry = 0; // a timer
  #loaded = ""; // the window and the kind of values that were loaded last

  start() {
    const load = this.settled(SETTLED_MS, () => this.#load());
    this.follow(app.model, ["reset", "message", "chunks", "status", "meta"], () => {
      this.#retryMs = FIRST_RETRY_MS;
      load();
    });
    this.follow(app, "window", () => {
      app.heat.setLooks(new Map(), { hasReader: true });
      app.heat.setPlaces(new Map());
    });
    this.follow(app, "view", load);
    this.follow(app, "past", (past) => app.heat.setPast(past !== null));
    this.follow(app.heat, "mode", () => {
      if (this.#loaded !== `${app.windowId} ${app.heat.chosen}`) load();
    });
  }

  async #load() {
    this.#isStale = this.#isLoading;
    const { chosen } = app.heat;
    if (this.#isLoading || app.view !== "weave" || !app.model.info || (chosen !== "message" && chosen !== "keeping")) return;
    const { windowId } = app;
    this.#isLoading = true;
    const found = await app.api.heat(chosen).catch(() => null);
    this.#isLoading = false;
    if (this.#isStale || windowId !== app.windowId) return void this.nextFrame(() => this.#load());
    if (!found) return;
    this.#loaded = `${windowId} ${chosen}`;
    const { has_reader: hasReader, chunks } = found;
    if (chosen === "keeping") return app.heat.setPlaces(new Map(chunks.map(({ key, place }) => [keyText(key), place ?? 0])));
    app.heat.setLooks(looksOf(chunks), { hasReader });
    this.cancel(this.#retry);
    if (!hasReader || !this.#isIncomplete()) return;
    this.#retry = this.later(this.#retryMs, () => this.#load());
    this.#retryMs = Math.min(LAST_RETRY_MS, 2 * this.#retryMs);
  }

  // The reader reads in the background what was said before the newest message.
  #isIncomplete() {
    const newest = app.model.chunks.findLast(({ role }) => role === "user")?.turn;
    return newest !== undefined && app.model.chunks.some((chunk) => compareNumbers(chunk.turn, newest) < 0 && !app.heat.hasLooks(chunk));
  }
}

/** @param {ChunkHeat[]} found */
const looksOf = (found) => new Map(found.map(({ key, attention }) => [keyText(key), new Uint16Array(bytesOf(attention ?? ""))]));

customElements.define("halo-heat-loader", HeatLoader);
