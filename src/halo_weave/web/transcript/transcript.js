// The living context, newest below. Two views of the same tokens: read (Markdown) and weave (brightness).

/** @import { Moment } from "../shared/events.js" */
/** @import { Chunk } from "../shared/window-model.js" */
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { keyText } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { Gaps } from "./gaps.js";
import { showRendered } from "./markdown-view.js";
import { Painter } from "./painter.js";
import { turnView } from "./turn-view.js";
import { welcome } from "./welcome.js";
import { WritingView } from "./writing-view.js";

/** @typedef {{ view: HTMLElement, parts: unknown[] }} ShownTurn a view with what it was made from */

const NEAR_BOTTOM = 120;

const FOUND_MS = 2000;

export class Transcript extends Part {
  #list = element("div", { className: "turns", role: "log", "aria-live": "off", "aria-label": "Conversation", tabIndex: 0 });
  #writing = new WritingView();
  #gaps = new Gaps();
  #painter = new Painter(this, app.heat);
  /** @type {Map<string, ShownTurn>} */
  #shown = new Map();
  /** @type {Set<HTMLElement>} */
  #visible = new Set();
  /** @type {IntersectionObserver | null} */
  #sights = null;
  /** @type {ResizeObserver | null} */
  #sizes = null;
  #isFollowing = true; // the person is at the end and stays there
  #lastTop = 0;
  /** @type {Moment & { byKey: Map<string, Chunk> } | null} */
  #past = null; // the moment that the timeline shows, or null for now
  #paintIsDue = false;

  start() {
    this.replaceChildren(this.#list);
    this.#paintIsDue = false;
    this.#sights = this.own(new IntersectionObserver((entries) => this.#see(entries), { root: this.#list, rootMargin: "300px" }));
    this.#sizes = this.own(new ResizeObserver(() => this.#isFollowing && this.#toEnd()));
    this.follow(app.model, "reset", () => this.#rebuild({ toEnd: true }));
    this.follow(app.model, "chunks", () => this.#change());
    this.follow(app.model, "message", () => (this.#isFollowing = true));
    this.follow(app.model, "token", (text) => this.#write(text));
    this.follow(app.model, "brightness", () => this.#schedulePaint());
    this.follow(app.heat, "mode", () => {
      this.#painter.forget();
      this.#schedulePaint();
    });
    this.follow(app, "view", () => this.#showView());
    this.follow(app, "jump", (key) => this.#jumpTo(key));
    this.follow(app, "names", () => {
      this.#forgetViews();
      this.#rebuild({});
    });
    this.follow(app, "past", (past) => this.#showPast(past));
    this.listen(this.#list, "scroll", () => this.#scrolled());
    this.listen(this.#list, "click", (event) => this.#lock(event));
    this.listen(this.#list, "pointermove", (event) => this.#preview(event));
    this.#showView();
  }

  end() {
    this.#forgetViews();
  }

  get #chunks() {
    return this.#past ? this.#past.chunks : app.model.chunks;
  }

  /** @param {string} key */
  #jumpTo(key) {
    if (!this.#viewOf(key)) app.showNow();
    const view = this.#viewOf(key);
    if (!view) return;
    this.#isFollowing = false;
    view.scrollIntoView({ block: "center", behavior: "instant" }); // views between have no settled height yet
    view.focus({ preventScroll: true });
    view.classList.add("found");
    this.later(FOUND_MS, () => view.classList.remove("found"));
  }

  /** @param {{ toEnd?: boolean }} options */
  #rebuild({ toEnd = false }) {
    if (toEnd) this.#isFollowing = true;
    const focused = this.#focusedKey();
    const turns = groupedByTurn(this.#chunks);
    /** @type {Map<string | null, HTMLElement>} */
    const gaps = this.#past ? new Map() : this.#gaps.views();
    const views = this.#turnViews(turns, gaps);
    if (!turns.length && !app.model.writing) views.unshift(welcome());
    const last = gaps.get(null);
    if (last) views.push(last);
    if (!this.#past) views.push(this.#writing);
    arrange(this.#list, views);
    this.#writing.show(app.model.writing);
    if (focused && !this.#list.contains(document.activeElement)) this.#viewOf(focused)?.focus({ preventScroll: true });
    this.#schedulePaint();
    if (!this.#past) this.#askForGaps();
    if (this.#isFollowing) this.#toEnd();
  }

  #focusedKey() {
    const focused = document.activeElement;
    const chunk = focused && this.#list.contains(focused) ? focused.closest(".chunk") : null;
    return chunk instanceof HTMLElement ? chunk.dataset.key : undefined;
  }

  /**
   * Turns that are as they were keep their views, so that neither focus nor selection is lost.
   * @param {Chunk[][]} turns
   * @param {Map<string | null, HTMLElement>} gaps
   */
  #turnViews(turns, gaps) {
    const newest = turns.findLast(([first]) => first.role === "assistant");
    const before = this.#shown;
    this.#shown = new Map();
    /** @type {HTMLElement[]} */
    const views = [];
    for (const chunks of turns) {
      const isNewest = chunks === newest && !this.#past;
      const [{ id, turn, role }] = chunks;
      const parts = [isNewest, ...chunks.flatMap((chunk) => [chunk, chunk.is_pinned, chunk.id !== id && gaps.get(chunk.id)])];
      const known = before.get(`${turn}.${role}`);
      const kept = known && areSame(known.parts, parts) ? known.view : null;
      const view = kept ?? turnView(chunks, { isNewest, gaps });
      this.#shown.set(`${turn}.${role}`, { view, parts });
      if (kept) before.delete(`${turn}.${role}`);
      else this.#watch(view);
      const gap = gaps.get(id);
      if (gap) views.push(gap);
      views.push(view);
    }
    this.#drop(before);
    return views;
  }

  /** @param {HTMLElement} view */
  #watch(view) {
    this.#sizes?.observe(view);
    for (const one of view.querySelectorAll(".chunk")) this.#sights?.observe(one);
  }

  /** @param {Map<string, ShownTurn>} shown */
  #drop(shown) {
    for (const { view } of shown.values()) {
      this.#sizes?.unobserve(view);
      for (const one of chunkViewsOf(view)) {
        this.#sights?.unobserve(one);
        this.#visible.delete(one);
      }
    }
  }

  #forgetViews() {
    this.#drop(this.#shown);
    this.#shown.clear();
    this.#gaps.forgetViews();
  }

  /** @param {string} key */
  #viewOf(key) {
    return chunkViewsOf(this.#list, `[data-key="${CSS.escape(key)}"]`)[0];
  }

  #change() {
    if (this.#past) return;
    const anchor = this.#anchor();
    this.#rebuild({});
    anchor?.();
  }

  // Keeps the text that the person reads in place while something above it comes or goes.
  #anchor() {
    if (this.#isFollowing) return null;
    const top = this.#list.getBoundingClientRect().top;
    const places = [...this.#visible].map((view) => ({ key: view.dataset.key ?? "", box: view.getBoundingClientRect() }));
    const [first] = places.filter(({ box }) => box.bottom > top).sort((a, b) => a.box.top - b.box.top);
    if (!first) return null;
    return () => {
      const now = this.#viewOf(first.key);
      if (now) this.#list.scrollTop += now.getBoundingClientRect().top - first.box.top;
    };
  }

  /** @param {string} text */
  #write(text) {
    if (this.#past) return;
    this.#writing.add(text, app.model.writing);
    if (this.#isFollowing) this.#toEnd();
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!(target instanceof HTMLElement)) continue;
      const chunk = this.#chunkOf(target);
      if (!chunk || !isIntersecting) {
        this.#visible.delete(target);
        this.#painter.release(target);
        continue;
      }
      this.#visible.add(target);
      if (app.view === "read") showRendered(target, chunk, this);
    }
    this.#schedulePaint();
  }

  /** @param {HTMLElement} view */
  #chunkOf(view) {
    const key = view.dataset.key ?? "";
    return this.#past ? this.#past.byKey.get(key) : app.model.get(key);
  }

  #schedulePaint() {
    if (this.#paintIsDue) return;
    this.#paintIsDue = true;
    this.nextFrame(() => {
      this.#paintIsDue = false;
      this.#paint();
    });
  }

  #paint() {
    app.heat.fit(this.#chunks);
    if (app.view !== "weave") return;
    const next = new Set(this.#past ? [] : (app.model.info?.next_keys ?? []).map(keyText));
    /** @type {[HTMLElement, Chunk][]} */
    const pairs = [];
    for (const view of this.#visible) {
      const chunk = this.#chunkOf(view);
      if (!chunk) continue;
      pairs.push([view, chunk]);
      view.classList.toggle("next", next.has(chunk.id));
    }
    this.#painter.paint(pairs);
  }

  #showView() {
    this.dataset.view = app.view;
    if (app.view === "read") {
      for (const view of this.#visible) {
        const chunk = this.#chunkOf(view);
        if (chunk) showRendered(view, chunk, this);
      }
    }
    this.#writing.show(app.model.writing);
    this.#schedulePaint();
  }

  async #askForGaps() {
    if (await this.#gaps.refresh()) this.#change();
  }

  /** @param {Moment | null} past */
  #showPast(past) {
    this.#past = past && { ...past, byKey: new Map(past.chunks.map((chunk) => [chunk.id, chunk])) };
    this.classList.toggle("past", Boolean(past));
    this.#rebuild({});
  }

  #toEnd() {
    this.#list.scrollTop = this.#list.scrollHeight;
  }

  // Only a person scrolls up; text that grows leaves the place as it is.
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM;
    if (isNear || scrollTop < this.#lastTop) this.#isFollowing = isNear;
    this.#lastTop = scrollTop;
  }

  /**
   * Which token is under the pointer.
   * @param {MouseEvent} event
   */
  #tokenAt({ target }) {
    const view = target instanceof Element ? target.closest(".chunk") : null;
    if (app.view !== "weave" || !(view instanceof HTMLElement) || !(target instanceof Element)) return null;
    const chunk = this.#chunkOf(view);
    const place = this.#painter.placeOf(view, target);
    return chunk && place >= 0 ? { chunk, place } : null;
  }

  /** @param {PointerEvent} event */
  #preview(event) {
    if (event.pointerType === "mouse") app.emit("token-preview", this.#tokenAt(event));
  }

  /** @param {MouseEvent} event */
  #lock(event) {
    const token = this.#tokenAt(event);
    if (token) app.emit("token-lock", token);
  }
}

/**
 * @param {Element} root
 * @param {string} which
 */
const chunkViewsOf = (root, which = ".chunk") => [...root.querySelectorAll(which)].filter((one) => one instanceof HTMLElement);

/**
 * @param {unknown[]} some
 * @param {unknown[]} others
 */
const areSame = (some, others) => some.length === others.length && some.every((one, place) => one === others[place]);

/** @param {readonly Chunk[]} chunks */
function groupedByTurn(chunks) {
  /** @type {Chunk[][]} */
  const turns = [];
  for (const chunk of chunks) {
    const last = turns[turns.length - 1];
    if (last && last[0].turn === chunk.turn && last[0].role === chunk.role) last.push(chunk);
    else turns.push([chunk]);
  }
  return turns;
}

customElements.define("halo-transcript", Transcript);
