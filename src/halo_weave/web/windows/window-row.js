// One window in the list, with what can be done to it.

import { app } from "../shared/app.js";
import { windowApi } from "../shared/api.js";
import { count, date, element } from "../shared/format.js";

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export class WindowRow extends HTMLElement {
  #entry = null;
  #name = element("span", { className: "window-name" });
  #marks = element("span", { className: "window-marks" });
  #facts = element("small");
  #open = element("button", { className: "item" }, this.#name, this.#marks, this.#facts);
  #more = element("button", { className: "icon-button more", textContent: "⋯", "aria-expanded": "false" });
  #below = element("div", { className: "window-actions", hidden: true });
  #isRenaming = false;

  connectedCallback() {
    if (this.childElementCount) return;
    this.setAttribute("role", "listitem");
    this.append(this.#open, this.#more, this.#below);
    this.#open.onclick = () => app.open(this.#entry.id);
    this.#more.onclick = () => (this.#below.hidden ? this.#offer() : this.#fold());
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#below.hidden) return;
      event.preventDefault();
      event.stopPropagation(); // Esc would stop the reply
      this.#fold();
    });
  }

  show(entry) {
    this.#entry = entry;
    this.#name.textContent = entry.name;
    const facts = entry.problem ? "damaged" : `${count(entry.tokens)} living`;
    this.#facts.textContent = entry.doing || `${shortTime(entry.saved_at)} · ${facts}`;
    this.#facts.title = entry.problem ?? "";
    this.#marks.replaceChildren(...marks(entry));
    if (entry.isCurrent) this.#open.setAttribute("aria-current", "true");
    else this.#open.removeAttribute("aria-current");
    this.#more.setAttribute("aria-label", `Actions for ${entry.name}`);
  }

  rename() {
    this.#fold();
    this.#isRenaming = true;
    const input = element("input", { className: "field", value: this.#entry.name, maxLength: 200, "aria-label": "Name of the window" });
    const form = element("form", { className: "renaming" }, input);
    const end = async (isKept) => {
      if (!this.#isRenaming) return;
      this.#isRenaming = false;
      const hadFocus = this.contains(document.activeElement);
      const name = input.value.trim();
      form.replaceWith(this.#open);
      if (hadFocus) this.#open.focus();
      if (isKept && name && name !== this.#entry.name) await app.attempt(() => this.#api.change({ name }));
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      end(true);
    };
    input.onblur = () => end(true);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      end(false);
    });
    this.#open.replaceWith(form);
    input.select();
    input.focus();
  }

  get #api() {
    return windowApi(this.#entry.id, () => undefined);
  }

  #offer() {
    const { is_open: isOpen, isOnly } = this.#entry;
    const actions = [action("Rename", () => this.rename())];
    if (isOpen && !isOnly) actions.push(action("Close", () => this.#close()));
    actions.push(action("Delete…", () => this.#askToDelete()));
    this.#unfold(actions);
  }

  #askToDelete() {
    const words = element("p", { className: "quiet", textContent: "Delete this window? What was said in it stays in the memory." });
    const yes = action("Delete", () => this.#delete());
    yes.classList.add("danger");
    this.#unfold([words, action("Keep", () => this.#fold()), yes]);
  }

  #close() {
    this.#fold();
    this.#leave();
    return app.attempt(() => this.#api.close());
  }

  #delete() {
    this.#fold();
    this.#leave();
    return app.attempt(() => this.#api.remove());
  }

  // Before it goes, or this tab would be told that somebody else closed it.
  #leave() {
    this.dispatchEvent(new CustomEvent("window-gone", { bubbles: true, detail: this.#entry.id }));
  }

  #unfold(parts) {
    this.#below.replaceChildren(...parts);
    this.#below.hidden = false;
    this.#more.setAttribute("aria-expanded", "true");
    this.#below.querySelector("button").focus();
  }

  #fold() {
    if (this.#below.contains(document.activeElement)) this.#more.focus();
    this.#below.hidden = true;
    this.#more.setAttribute("aria-expanded", "false");
  }
}

const action = (textContent, onclick) => element("button", { className: "outlined small", textContent, onclick });

function marks({ doing, is_open: isOpen }) {
  if (doing) return [mark("busy", "busy")];
  return isOpen ? [mark("open", "open")] : [];
}

const mark = (kind, label) => element("span", { className: `mark ${kind}`, role: "img", title: label, "aria-label": label });

function shortTime(iso) {
  const day = date(iso);
  if (day === "Today") return hour.format(new Date(iso));
  const yesterday = new Date();
  yesterday.setDate(yesterday.getDate() - 1);
  return new Date(iso).toDateString() === yesterday.toDateString() ? "yesterday" : day;
}

customElements.define("halo-window-row", WindowRow);
