// The conversation, newest below. The read view shows all of it as Markdown, in context or not; the weave view shows the
// context alone, as the model sees it, in the colours of its brightness.

/** @import { Moment } from "../shared/events.js" */
/** @import { Chunk } from "../shared/window-model.js" */
/** @import { Said } from "./conversation.js" */
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { keyText } from "../shared/chunk-key.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { pause } from "../shared/waiting.js";
import { Conversation } from "./conversation.js";
import { Gaps } from "./gaps.js";
import { showRendered } from "./markdown-view.js";
import { Painter } from "./painter.js";
import { textsOf } from "./passage-groups.js";
import { rendered } from "./rendering.js";
import { chunkViewsOf, groupedByTurn, TurnViews } from "./turn-views.js";
import { welcome } from "./welcome.js";
import { WritingView } from "./writing-view.js";


const NEAR_BOTTOM = 120;
const SCREENS_AHEAD = 2; // so much more is loaded than is in sight
const FOUND_MS = 2000;
const LONGEST_SETTLING_MS = 1000;
const NEW_CHUNKS = 50; // more than a reply has, but for very long ones

export class Transcript extends Part {
  #list = element("div", { className: "turns", role: "log", "aria-live": "off", "aria-label": "Conversation", tabIndex: 0 });
  #writing = new WritingView();
  #gaps = new Gaps();
  #conversation = new Conversation();
  #toNewest = element("button", { className: "to-newest outlined", hidden: true, textContent: "↓ Newest", "aria-label": "Go to the newest message", onclick: () => this.#goToNewest() });
  #toFirst = element("button", { className: "to-first link", textContent: "Go to the first message", onclick: () => this.#goToFirst() });
  #windowId = ""; // of the window that is shown
  #painter = new Painter(this, app.heat);
  /** @type {TurnViews | null} */
  #views = null;
  /** @type {Set<HTMLElement>} */
  #visible = new Set();
  #isFollowing = true; // the person is at the end and stays there
  #lastTop = 0;
  /** @type {Moment & { byKey: Map<string, Chunk> } | null} */
  #past = null; // the moment that the timeline shows, or null for now
  #paintIsDue = false;
  #isSettling = false; // the reply has ended, and its Markdown is on its way

  start() {
    this.replaceChildren(this.#list, this.#toNewest);
    this.#conversation.follow(this.signal); // first, since views read it
    this.#isSettling = false;
    this.#paintIsDue = false;
    const sights = this.own(new IntersectionObserver((entries) => this.#see(entries), { root: this.#list, rootMargin: "300px" }));
    const sizes = this.own(new ResizeObserver(() => this.#isFollowing && this.#toEnd()));
    this.#views = new TurnViews({ sights, sizes, forgotten: (view) => this.#visible.delete(view) });
    this.follow(app.model, "reset", () => this.#reset());
    this.follow(this.#conversation, "changed", () => this.#change());
    this.follow(app.model, "chunks", () => this.#change());
    this.follow(app.model, "message", () => this.#goToNewest());
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
      this.#rebuild();
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

  /** What the model sees, or saw. */
  get #chunks() {
    return this.#past ? this.#past.chunks : app.model.chunks;
  }

  /** @returns {readonly Said[]} */
  get #said() {
    return app.view === "read" && !this.#past ? this.#conversation.said() : this.#chunks;
  }

  /** @param {string} key */
  async #jumpTo(key) {
    if (!this.#viewOf(key)) app.showNow();
    if (!this.#viewOf(key) && app.view === "weave") app.setView("read"); // it is out of context
    if (!this.#viewOf(key)) {
      this.#isFollowing = false;
      await this.#conversation.openAround(key);
    }
    const view = this.#viewOf(key);
    if (!view) return;
    this.#isFollowing = false;
    const card = view.closest("details");
    if (card) card.open = true;
    view.scrollIntoView({ block: "center", behavior: "instant" }); // views between have no settled height yet
    view.focus({ preventScroll: true });
    view.classList.add("found");
    this.later(FOUND_MS, () => view.classList.remove("found"));
  }

  #reset() {
    const id = app.model.info?.id ?? "";
    if (id === this.#windowId) return this.#change();
    this.#windowId = id;
    this.#isFollowing = true;
    return this.#rebuild();
  }

  async #goToNewest() {
    this.#isFollowing = true;
    if (app.view === "read" && this.#conversation.hasLater) await this.#conversation.openNewest();
    this.#isFollowing = true; // what was scrolled while the newest messages were loading does not count
    this.#toEnd();
  }

  async #goToFirst() {
    this.#isFollowing = false;
    await this.#conversation.openFirst();
    this.#list.scrollTop = 0;
    this.#list.focus();
  }

  #rebuild() {
    const focused = this.#focusedKey();
    const isReading = app.view === "read" && !this.#past;
    const turns = groupedByTurn(this.#said);
    /** @type {Map<string | null, HTMLElement>} */
    const gaps = isReading || this.#past ? new Map() : this.#gaps.views();
    const views = this.#views?.arranged(turns, gaps, { isReading, isPast: this.#past !== null }) ?? [];
    if (!turns.length && !app.model.writing && (isReading ? this.#conversation.isLoaded : app.model.info)) views.unshift(welcome());
    if (isReading && this.#conversation.hasEarlier && turns.length) views.unshift(this.#toFirst);
    const last = gaps.get(null);
    if (last) views.push(last);
    if (!this.#past && !(isReading && this.#conversation.hasLater)) views.push(this.#writing);
    arrange(this.#list, views);
    this.#writing.show(app.model.writing);
    if (focused && !this.#list.contains(document.activeElement)) this.#viewOf(focused)?.focus({ preventScroll: true });
    this.#schedulePaint();
    if (!this.#past && !isReading && app.model.info) this.#askForGaps();
    if (this.#isFollowing) this.#toEnd();
    this.#showWay();
    this.#loadMore();
  }

  #focusedKey() {
    const focused = document.activeElement;
    const chunk = focused && this.#list.contains(focused) ? focused.closest(".chunk") : null;
    return chunk instanceof HTMLElement ? chunk.dataset.key : undefined;
  }

  #forgetViews() {
    this.#views?.forget();
    this.#gaps.forgetViews();
  }

  /** @param {string} key */
  #viewOf(key) {
    return chunkViewsOf(this.#list, `[data-key="${CSS.escape(key)}"]`)[0];
  }

  #change() {
    if (this.#past || this.#isSettling) return;
    if (app.view === "read" && !this.#writing.hidden && !app.model.writing) void this.#settle();
    else this.#changeNow();
  }

  #changeNow() {
    const anchor = this.#anchor();
    this.#rebuild();
    anchor?.();
  }

  // The reply stays as it was written until its Markdown is here as the server has it, so that nothing jumps.
  async #settle() {
    this.#isSettling = true;
    const texts = textsOf(app.model.chunks.slice(-NEW_CHUNKS));
    await Promise.race([Promise.all(texts.map(rendered)), pause(LONGEST_SETTLING_MS)]);
    this.#isSettling = false;
    if (this.isConnected) this.#changeNow();
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
    if (this.#past || this.#isSettling) return;
    this.#writing.add(text, app.model.writing);
    if (this.#isFollowing) this.#toEnd();
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!(target instanceof HTMLElement)) continue;
      const said = this.#saidOf(target);
      if (!said || !isIntersecting) {
        this.#visible.delete(target);
        this.#painter.release(target);
        continue;
      }
      this.#visible.add(target);
      if (app.view === "read") showRendered(target, said, this);
    }
    this.#schedulePaint();
  }

  /** @param {HTMLElement} view */
  #chunkOf(view) {
    const key = view.dataset.key ?? "";
    return this.#past ? this.#past.byKey.get(key) : app.model.get(key);
  }

  /** @param {HTMLElement} view */
  #saidOf(view) {
    return this.#chunkOf(view) ?? this.#conversation.get(view.dataset.key ?? "");
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
    const anchor = this.#anchor();
    this.dataset.view = app.view;
    this.#rebuild();
    if (app.view === "read") {
      for (const view of this.#visible) {
        const said = this.#saidOf(view);
        if (said) showRendered(view, said, this);
      }
    }
    anchor?.();
  }

  async #askForGaps() {
    if ((await this.#gaps.refresh()) && app.view === "weave") this.#change();
  }

  /** @param {Moment | null} past */
  #showPast(past) {
    this.#past = past && { ...past, byKey: new Map(past.chunks.map((chunk) => [chunk.id, chunk])) };
    this.classList.toggle("past", Boolean(past));
    this.#rebuild();
  }

  // Load what is near the edge of what is shown, before the person gets there.
  #loadMore() {
    if (app.view !== "read" || this.#past) return;
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    const ahead = SCREENS_AHEAD * clientHeight;
    if (scrollTop < ahead) void this.#conversation.loadEarlier();
    else if (scrollHeight - scrollTop - clientHeight < ahead) void this.#conversation.loadLater();
  }

  #showWay() {
    this.#toNewest.hidden = this.#isFollowing && !(app.view === "read" && this.#conversation.hasLater);
  }

  #toEnd() {
    this.#list.scrollTop = this.#list.scrollHeight;
    this.#lastTop = this.#list.scrollTop; // the event comes later, and may come when there is more text: nobody scrolled up
  }

  // Only a person scrolls up; text that grows leaves the place as it is.
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#list;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM;
    if (isNear || scrollTop < this.#lastTop) this.#isFollowing = isNear && !(app.view === "read" && this.#conversation.hasLater);
    this.#lastTop = scrollTop;
    this.#showWay();
    this.#loadMore();
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

customElements.define("halo-transcript", Transcript);
