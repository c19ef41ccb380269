// The window's whole conversation, as far as this tab has loaded it: one stretch of it without gaps, which grows at the
// end that the person scrolls to and is dropped at the other. What is in context comes from the window's model, the rest
// from the server, page by page.

/** @import { ConversationEvents } from "../shared/events.js" */
/** @import { ConversationPage, ConversationQuery, PassageRecord } from "../shared/records.js" */
/** @import { Chunk, Departure } from "../shared/window-model.js" */
import { app } from "../shared/app.js";
import { compareNumbers, keyText } from "../shared/chunk-key.js";
import { Emitter } from "../shared/emitter.js";
import { textsOf } from "./passage-groups.js";
import { rendered } from "./rendering.js";

/**
 * A passage that is out of the model's context.
 * @typedef {Omit<PassageRecord, "key"> & Pick<Chunk, "id" | "key" | "turn" | "role" | "is_pinned" | "is_foreign" | "returned" | "looked_at"> & { window: string, isOut: true }} Passage
 */
/** @typedef {Passage | (Chunk & { isOut?: undefined })} Said a message or a part of it, in context or not */

const PAGE = "50";
const MOST_PASSAGES = 400;
const MOST_CHARACTERS = 2_000_000;
const FIRST = "0.0.user"; // below the key of every message

/** @extends {Emitter<ConversationEvents>} */
export class Conversation extends Emitter {
  /** @type {Map<string, Passage>} */
  #passages = new Map(); // of this window, by key; some of them may be in context again
  #hasEarlier = true;
  #hasLater = false;
  #isLoaded = false;
  #isLoading = false;
  #window = "";
  #place = 0; // counts the stretches; answers for an earlier one are dropped
  #version = 0; // counts changes that an answer under way may not have seen

  /** @param {AbortSignal} signal */
  follow(signal) {
    const until = { signal };
    app.model.on("reset", () => this.#reset(), until);
    app.model.on("left", (left) => this.#keep(left), until);
    app.model.on("gone", (keys) => this.#forget(keys), until);
    app.model.on("unknown", () => this.#refresh(), until);
  }

  /** Whether something is known about the conversation. */
  get isLoaded() {
    return this.#isLoaded;
  }

  get hasEarlier() {
    return this.#hasEarlier;
  }

  get hasLater() {
    return this.#hasLater;
  }

  /**
   * A passage that is out of context.
   * @param {string} key
   */
  get(key) {
    return this.#passages.get(key);
  }

  /**
   * The stretch in order: the window's own messages, and what is in context from elsewhere at its place in time.
   * @returns {Said[]}
   */
  said() {
    if (!this.#isLoaded) return [];
    const { model } = app;
    const out = [...this.#passages.values()].filter(({ id }) => !model.get(id));
    return [...out, ...model.chunks.filter(this.#within())].sort(inOrder);
  }

  async loadEarlier() {
    const first = this.#first();
    if (this.#isLoading || !this.#hasEarlier || !first) return;
    const page = await this.#loaded({ before: first.id });
    if (!page) return;
    this.#add(page.passages);
    this.#hasEarlier = page.has_earlier;
    if (this.#drop((sorted) => sorted.pop())) this.#hasLater = true;
    this.emit("changed");
  }

  async loadLater() {
    const last = this.#last();
    if (this.#isLoading || !this.#hasLater || !last) return;
    const page = await this.#loaded({ after: last.id });
    if (!page) return;
    this.#add(page.passages);
    this.#hasLater = page.has_later;
    if (this.#drop((sorted) => sorted.shift())) this.#hasEarlier = true;
    this.emit("changed");
  }

  /**
   * Load the stretch around a chunk in place of the present one.
   * @param {string} key
   */
  openAround(key) {
    return this.#open({ around: key });
  }

  openFirst() {
    return this.#open({ around: FIRST });
  }

  openNewest() {
    return this.#open({});
  }

  #reset() {
    const id = app.model.info?.id ?? "";
    if (id === this.#window && this.#isLoaded) return this.#refresh();
    this.#window = id;
    this.#passages.clear();
    this.#isLoaded = false;
    return this.openNewest();
  }

  /** @param {ConversationQuery} place */
  async #open(place) {
    this.#place += 1;
    this.#isLoading = false;
    const page = await this.#asked(place);
    if (page === undefined) return;
    this.#passages.clear();
    this.#add(page?.passages ?? []);
    this.#hasEarlier = page?.has_earlier ?? false; // without an answer, what is in context is shown
    this.#hasLater = page?.has_later ?? false;
    this.#isLoaded = true;
    this.emit("changed");
  }

  // The same stretch again, since something in it may be different.
  async #refresh() {
    this.#version += 1;
    if (!this.#isLoaded) return; // what is asked for already is asked for again
    this.#place += 1;
    this.#isLoading = false;
    const [first, last] = [this.#first(), this.#hasLater ? this.#last() : undefined];
    const start = await this.#asked(first ? { around: first.id } : {});
    /** @type {PassageRecord[]} */
    const found = [];
    let page = start;
    while (page) {
      found.push(...page.passages);
      const end = found.at(-1);
      if (!end || !page.has_later || (last && inOrder(this.#passage(end), last) >= 0)) break;
      page = await this.#asked({ after: keyText(end.key) });
    }
    if (!page || !start) return;
    this.#passages.clear();
    this.#add(found);
    [this.#hasEarlier, this.#hasLater] = [start.has_earlier, page.has_later];
    this.emit("changed");
  }

  /**
   * A page with its Markdown rendered, so that nothing changes its height once it is shown.
   * @param {ConversationQuery} place
   */
  async #loaded(place) {
    this.#isLoading = true;
    const page = await this.#asked(place);
    if (page === undefined) return null;
    await Promise.all(textsOf(page?.passages ?? []).map(rendered));
    this.#isLoading = false;
    return page;
  }

  /**
   * Null without an answer; undefined if another stretch was opened meanwhile.
   * @param {ConversationQuery} place
   * @returns {Promise<ConversationPage | null | undefined>}
   */
  async #asked(place) {
    for (;;) {
      const [asked, version] = [this.#place, this.#version];
      const page = await app.api.conversation({ ...place, limit: PAGE }).catch(() => null);
      if (asked !== this.#place) return undefined;
      if (page === null || version === this.#version) return page;
    }
  }

  /** @param {PassageRecord[]} records */
  #add(records) {
    for (const record of records) {
      const passage = this.#passage(record);
      const known = this.#passages.get(passage.id);
      if (!known || known.text !== passage.text || known.reason !== passage.reason) this.#passages.set(passage.id, passage);
    }
  }

  /** @param {Departure[]} left */
  #keep(left) {
    const isWithin = this.#within();
    for (const { chunk, reason } of left) {
      const { key, time, text, marks, pieces } = chunk;
      if (this.#isLoaded && isOwn(chunk) && isWithin(chunk)) this.#passages.set(chunk.id, this.#passage({ key, time, text, marks, reason, tokens: pieces.length }));
    }
  }

  /** @param {string[]} keys */
  #forget(keys) {
    this.#version += 1;
    for (const key of keys) this.#passages.delete(key);
  }

  /**
   * @param {PassageRecord} record
   * @returns {Passage}
   */
  #passage(record) {
    const { turn, role } = record.key;
    return { ...record, id: keyText(record.key), turn, role, window: this.#window, is_pinned: false, is_foreign: false, returned: "", looked_at: [], isOut: true };
  }

  /** Tells which chunks belong to the stretch. */
  #within() {
    const first = this.#hasEarlier ? this.#first() : undefined;
    const last = this.#hasLater ? this.#last() : undefined;
    /** @param {Chunk} chunk */
    return (chunk) => (!first || inOrder(first, chunk) <= 0) && (!last || inOrder(chunk, last) <= 0);
  }

  #first() {
    return extreme(this.#passages.values(), (a, b) => inOrder(a, b) < 0);
  }

  #last() {
    return extreme(this.#passages.values(), (a, b) => inOrder(a, b) > 0);
  }

  /**
   * Whether so much was loaded that some of it had to go.
   * @param {(sorted: Passage[]) => Passage | undefined} take the passage that goes next
   */
  #drop(take) {
    const sorted = [...this.#passages.values()].sort(inOrder);
    let characters = sorted.reduce((sum, { text }) => sum + text.length, 0);
    const before = sorted.length;
    while (sorted.length > MOST_PASSAGES || (characters > MOST_CHARACTERS && sorted.length > Number(PAGE))) {
      const gone = take(sorted);
      if (!gone) break;
      characters -= gone.text.length;
      this.#passages.delete(gone.id);
    }
    return sorted.length < before;
  }
}

/**
 * Whether it was said in the open window.
 * @param {{ window: string }} said
 */
export const isOwn = ({ window }) => window === app.model.info?.id;

/**
 * @param {Pick<Chunk, "turn" | "key">} a
 * @param {Pick<Chunk, "turn" | "key">} b
 */
const inOrder = (a, b) => compareNumbers(a.turn, b.turn) || a.key.chunk - b.key.chunk;

/**
 * @template Value
 * @param {Iterable<Value>} values
 * @param {(a: Value, b: Value) => boolean} isBefore
 */
function extreme(values, isBefore) {
  /** @type {Value | undefined} */
  let found = undefined;
  for (const value of values) if (found === undefined || isBefore(value, found)) found = value;
  return found;
}
