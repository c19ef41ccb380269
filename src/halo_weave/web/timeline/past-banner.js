// Says that an earlier context is shown, what had just changed in it and why, and leads back to now.

/** @import { Moment } from "../shared/events.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { moment, plural } from "../shared/format.js";
import { announce } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { inWords, summary } from "./changes.js";

export class PastBanner extends Part {
  #when = element("strong");
  #what = element("span", { className: "quiet" });
  #back = element("button", { className: "primary", textContent: "Back to now" });
  #summary = element("summary");
  #list = element("ul", { className: "plain" });
  #details = element("details", {}, this.#summary, this.#list);

  start() {
    this.hidden = true;
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "The past");
    this.replaceChildren(this.#when, this.#what, this.#back, this.#details);
    this.#back.onclick = () => app.showNow();
    this.follow(app, "past", (past) => this.#show(past));
  }

  /** @param {Moment | null} past */
  #show(past) {
    if (!past && !this.hidden) announce("The present context is shown.");
    this.hidden = past === null;
    if (!past) return;
    this.#when.textContent = `The past: ${moment(past.time)}`;
    this.#what.textContent = [`${plural(past.chunks.length, "passage")} in context then`, past.gone].filter(Boolean).join(", ");
    this.#summary.textContent = summary(past.changes);
    this.#list.replaceChildren(...past.changes.map(changeView));
    announce(`${this.#when.textContent}. ${this.#summary.textContent}.`);
  }
}

/** @param {Moment["changes"][number]} change */
function changeView(change) {
  const words = element("q", { textContent: change.text });
  const reason = element("span", { className: "quiet", textContent: change.reason });
  return element("li", {}, element("strong", { textContent: inWords(change) }), " ", change.text ? words : "", " ", reason);
}

customElements.define("halo-past-banner", PastBanner);
