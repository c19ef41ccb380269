// The living context, newest below. Two views of the same tokens: read (Markdown) and weave (brightness).

import { keyText } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/format.js";
import { Gaps } from "./gaps.js";
import { HeatMap } from "../brightness/heat.js";
import { arrange } from "../shared/part.js";
import { WritingView } from "./writing-view.js";
import { showRendered, turnView } from "./turn-view.js";
import { welcome } from "./welcome.js";

const NEAR_BOTTOM = 120;

class Transcript extends HTMLElement {
  heat = new HeatMap();
  #list;
  #shown = new Map(); // views by turn, with what they were made from
  #visible = new Set();
  #observer;
  #sizes = new ResizeObserver(() => this.#isFollowing && this.#toEnd());
  #isFollowing = true; // the person is at the end and stays there
  #lastTop = 0;
  #writing;
  #gaps = new Gaps();
  #past = null; // the moment that the timeline shows, or null for now
  #paintIsDue = false;

  connectedCallback() {
    this.#list = element("div", { className: "turns", role: "log", "aria-live": "off", "aria-label": "Conversation", tabIndex: 0 });
    this.#writing = new WritingView();
    this.append(this.#list);
    this.#observer = new IntersectionObserver((entries) => this.#see(entries), { root: this.#list, rootMargin: "300px" });
    const { model } = app;
    model.addEventListener("reset", () => this.#rebuild({ toEnd: true }));
    model.addEventListener("chunks", () => this.#change());
    model.addEventListener("message", () => (this.#isFollowing = true));
    model.addEventListener("token", ({ detail }) => this.#write(detail));
    model.addEventListener("brightness", () => this.#schedulePaint());
    app.addEventListener("view", () => this.#showView());
    app.addEventListener("jump", ({ detail }) => this.jumpTo(detail));
    app.addEventListener("names", () => {
      this.#forgetViews();
      this.#rebuild({});
    });
    app.addEventListener("past", ({ detail }) => this.#showPast(detail));
    this.#list.addEventListener("scroll", () => this.#scrolled());
    this.#list.addEventListener("click", (event) => this.#lock(event));
    this.#list.addEventListener("pointermove", (event) => this.#preview(event));
    this.#showView();
  }

  get chunks() {
    return this.#past ? this.#past.chunks : app.model.chunks;
  }

  setMode(mode, isLinear) {
    this.heat.setMode(mode, isLinear);
    this.#schedulePaint();
  }

  jumpTo(key) {
    if (!this.#viewOf(key)) app.showNow();
    const view = this.#viewOf(key);
    if (!view) return;
    this.#isFollowing = false;
    view.scrollIntoView({ block: "center", behavior: "instant" }); // what is between has no settled height yet
    view.focus({ preventScroll: true });
    view.classList.add("found");
    setTimeout(() => view.classList.remove("found"), 2000);
  }

  #rebuild({ toEnd = false }) {
    if (toEnd) this.#isFollowing = true;
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.closest(".chunk")?.dataset.key : undefined;
    const turns = groupedByTurn(this.chunks);
    const gaps = this.#past ? new Map() : this.#gaps.views();
    const views = this.#turnViews(turns, gaps);
    if (!turns.length && !app.model.writing) views.unshift(welcome());
    if (gaps.has(null)) views.push(gaps.get(null));
    if (!this.#past) views.push(this.#writing);
    arrange(this.#list, views);
    this.#writing.show(app.model.writing);
    if (focused && !this.#list.contains(document.activeElement)) this.#viewOf(focused)?.focus({ preventScroll: true });
    this.#schedulePaint();
    if (!this.#past) this.#askForGaps();
    if (this.#isFollowing) this.#toEnd();
  }

  // Turns that are as they were keep their views, so that neither focus nor selection is lost.
  #turnViews(turns, gaps) {
    const newest = turns.findLast(([first]) => first.role === "assistant");
    const before = this.#shown;
    this.#shown = new Map();
    const views = [];
    for (const chunks of turns) {
      const isNewest = chunks === newest && !this.#past;
      const [{ id, turn, role }] = chunks;
      const parts = [isNewest, ...chunks.flatMap((chunk) => [chunk, chunk.is_pinned, chunk.id !== id && gaps.get(chunk.id)])];
      const known = before.get(`${turn}.${role}`);
      const isSame = known?.parts.length === parts.length && known.parts.every((part, place) => part === parts[place]);
      const view = isSame ? known.view : turnView(chunks, { isNewest, gaps });
      this.#shown.set(`${turn}.${role}`, { view, parts });
      if (isSame) before.delete(`${turn}.${role}`);
      else this.#watch(view);
      if (gaps.has(id)) views.push(gaps.get(id));
      views.push(view);
    }
    this.#drop(before);
    return views;
  }

  #watch(view) {
    this.#sizes.observe(view);
    for (const one of view.querySelectorAll(".chunk")) this.#observer.observe(one);
  }

  #drop(shown) {
    for (const { view } of shown.values()) {
      this.#sizes.unobserve(view);
      for (const one of view.querySelectorAll(".chunk")) {
        this.#observer.unobserve(one);
        this.#visible.delete(one);
      }
    }
  }

  #forgetViews() {
    this.#drop(this.#shown);
    this.#shown.clear();
  }

  #viewOf(key) {
    return this.#list.querySelector(`[data-key="${CSS.escape(key)}"]`);
  }

  #change() {
    if (this.#past) return;
    const anchor = this.#anchor();
    this.#rebuild({});
    anchor?.();
  }

  // Keeps what the person reads in place while something above it comes or goes.
  #anchor() {
    if (this.#isFollowing) return null;
    const top = this.#list.getBoundingClientRect().top;
    const places = [...this.#visible].map((view) => [view.dataset.key, view.getBoundingClientRect()]);
    const [first] = places.filter(([, { bottom }]) => bottom > top).sort(([, a], [, b]) => a.top - b.top);
    if (!first) return null;
    const [key, { top: before }] = first;
    return () => {
      const now = this.#viewOf(key);
      if (now) this.#list.scrollTop += now.getBoundingClientRect().top - before;
    };
  }

  #write(text) {
    if (this.#past) return;
    this.#writing.add(text, app.model.writing);
    if (this.#isFollowing) this.#toEnd();
  }

  #see(entries) {
    for (const { target, isIntersecting } of entries) {
      const chunk = this.#chunkOf(target);
      if (!chunk || !isIntersecting) {
        this.#visible.delete(target);
        this.heat.release(target);
        continue;
      }
      this.#visible.add(target);
      if (app.view === "read") showRendered(target, chunk);
    }
    this.#schedulePaint();
  }

  #chunkOf(view) {
    return this.#past ? this.#past.byKey.get(view.dataset.key) : app.model.get(view.dataset.key);
  }

  #schedulePaint() {
    if (this.#paintIsDue) return;
    this.#paintIsDue = true;
    requestAnimationFrame(() => {
      this.#paintIsDue = false;
      this.#paint();
    });
  }

  #paint() {
    this.heat.fit(this.chunks);
    if (app.view !== "weave") return;
    const next = new Set(this.#past ? [] : (app.model.info?.next_keys ?? []).map(keyText));
    const pairs = [];
    for (const view of this.#visible) {
      const chunk = this.#chunkOf(view);
      if (!chunk) continue;
      pairs.push([view, chunk]);
      view.classList.toggle("next", next.has(chunk.id));
    }
    this.heat.paint(pairs);
  }

  #showView() {
    this.dataset.view = app.view;
    if (app.view === "read") {
      for (const view of this.#visible) {
        const chunk = this.#chunkOf(view);
        if (chunk) showRendered(view, chunk);
      }
    }
    this.#writing?.show(app.model.writing);
    this.#schedulePaint();
  }

  async #askForGaps() {
    if (await this.#gaps.refresh()) this.#change();
  }

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

  // Which token is under the pointer.
  #tokenAt(event) {
    const view = event.target.closest?.(".chunk");
    const chunk = view && this.#chunkOf(view);
    if (!chunk || app.view !== "weave") return null;
    const place = this.heat.placeOf(view, event.target);
    return place < 0 ? null : { chunk, place };
  }

  #preview(event) {
    if (event.pointerType !== "mouse") return;
    app.dispatchEvent(new CustomEvent("token-preview", { detail: this.#tokenAt(event) }));
  }

  #lock(event) {
    const token = this.#tokenAt(event);
    if (token) app.dispatchEvent(new CustomEvent("token-lock", { detail: token }));
  }
}

function groupedByTurn(chunks) {
  const turns = [];
  for (const chunk of chunks) {
    const last = turns[turns.length - 1];
    if (last && last[0].turn === chunk.turn && last[0].role === chunk.role) last.push(chunk);
    else turns.push([chunk]);
  }
  return turns;
}

customElements.define("halo-transcript", Transcript);
