// One window in the list, with what can be done to it.

/** @import { WindowEntry } from "../shared/records.js" */
import { windowApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count, shortDate, timeOfDay } from "../shared/format.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";

/** @typedef {WindowEntry & { isCurrent: boolean, isOnly: boolean, folders: string[] }} ShownEntry a window as this tab sees it */

export class WindowRow extends Part {
  #id = "";
  #title = "";
  #isClosable = false;
  #name = element("span", { className: "window-name" });
  #marks = element("span", { className: "window-marks" });
  #facts = element("small");
  #open = element("button", { className: "item" }, this.#name, this.#marks, this.#facts);
  #more = element("button", { className: "icon-button more", textContent: "⋯", "aria-expanded": "false" });
  #below = element("div", { className: "window-actions", hidden: true });
  #isRenaming = false;
  #isSecret = false;
  #folder = "";
  /** @type {string[]} */
  #folders = [];

  get windowId() {
    return this.#id;
  }

  get isMovable() {
    return !this.#isSecret;
  }

  focusName() {
    this.#open.focus();
  }

  start() {
    this.setAttribute("role", "listitem");
    if (!this.childElementCount) this.append(this.#open, this.#more, this.#below);
    this.#open.onclick = () => app.open(this.#id);
    this.#more.onclick = () => (this.#below.hidden ? this.#offer() : this.#fold());
    this.listen(this, "keydown", (event) => {
      if (event.key === "F2" && event.target === this.#open && !this.#isSecret) {
        event.preventDefault();
        this.rename();
      }
      if (event.key !== "Escape" || this.#below.hidden) return;
      event.preventDefault();
      event.stopPropagation(); // Esc would stop the reply
      this.#fold();
    });
  }

  /** @param {ShownEntry} entry */
  show(entry) {
    this.#id = entry.id;
    this.#title = entry.name;
    this.#isSecret = entry.is_private;
    this.#folder = entry.folder;
    this.#folders = entry.folders;
    this.classList.toggle("private", entry.is_private);
    this.draggable = !entry.is_private;
    this.#isClosable = entry.is_open && (!entry.isOnly || entry.is_private);
    this.#name.textContent = entry.name;
    const facts = entry.problem ? "damaged" : `${count(entry.tokens)} tokens`;
    this.#facts.textContent = entry.doing || `${shortTime(entry.saved_at)} · ${facts}`;
    this.#facts.title = entry.problem || `${count(entry.tokens)} tokens in context`;
    this.#marks.replaceChildren(...marks(entry));
    if (entry.isCurrent) this.#open.setAttribute("aria-current", "true");
    else this.#open.removeAttribute("aria-current");
    this.#more.setAttribute("aria-label", `Actions for ${entry.name}`);
  }

  rename() {
    this.#fold();
    this.#isRenaming = true;
    const input = element("input", { className: "field", value: this.#title, maxLength: 200, "aria-label": "Name of the window" });
    const form = element("form", { className: "renaming" }, input);
    /** @param {boolean} isKept */
    const end = async (isKept) => {
      if (!this.#isRenaming) return;
      this.#isRenaming = false;
      const hadFocus = this.contains(document.activeElement);
      const name = input.value.trim();
      form.replaceWith(this.#open);
      if (hadFocus) this.#open.focus();
      if (isKept && name && name !== this.#title) await attempt(() => this.#api.change({ name }));
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      end(true);
    };
    input.onblur = () => end(true);
    input.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      end(false);
    };
    this.#open.replaceWith(form);
    input.select();
    input.focus();
  }

  get #api() {
    return windowApi(this.#id, () => undefined);
  }

  #offer() {
    if (this.#isSecret) return this.#unfold([action("Close and forget", () => this.#close())]);
    const actions = [
      action("Rename", () => this.rename()),
      action("Folder…", () => this.#askForFolder()),
      action("Move up", () => this.send("window-moved", { id: this.#id, step: -1 })),
      action("Move down", () => this.send("window-moved", { id: this.#id, step: 1 })),
    ];
    if (this.#isClosable) actions.push(action("Close", () => this.#close()));
    actions.push(action("Delete…", () => this.#askToDelete()));
    this.#unfold(actions);
  }

  #askForFolder() {
    const known = element("datalist", { id: `folders-${this.#id}` }, ...this.#folders.map((name) => element("option", { value: name })));
    const input = element("input", { className: "field", value: this.#folder, maxLength: 200, placeholder: "No folder", "aria-label": "Folder of the window" });
    input.setAttribute("list", known.id);
    const form = element("form", {}, input, known, element("button", { className: "outlined small", textContent: "Move", type: "submit" }));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#fold();
      attempt(() => this.#api.change({ folder: input.value.trim() }));
    };
    this.#unfold([form]);
    input.select();
    input.focus();
  }

  #askToDelete() {
    const words = element("p", { className: "quiet", textContent: "Delete this window? Its messages stay in the memory." });
    const yes = action("Delete", () => this.#delete());
    yes.classList.add("danger");
    this.#unfold([words, action("Cancel", () => this.#fold()), yes]);
  }

  #close() {
    this.#fold();
    this.#leave();
    return attempt(() => this.#api.close());
  }

  #delete() {
    this.#fold();
    this.#leave();
    return attempt(() => this.#api.remove());
  }

  // Before it is gone, or this tab would report that somebody else closed it.
  #leave() {
    this.send("window-gone", this.#id);
  }

  /** @param {HTMLElement[]} parts */
  #unfold(parts) {
    this.#below.replaceChildren(...parts);
    this.#below.hidden = false;
    this.#more.setAttribute("aria-expanded", "true");
    this.#below.querySelector("button")?.focus();
  }

  #fold() {
    if (this.#below.contains(document.activeElement)) this.#more.focus();
    this.#below.hidden = true;
    this.#more.setAttribute("aria-expanded", "false");
  }
}

/**
 * @param {string} textContent
 * @param {() => void} onclick
 */
const action = (textContent, onclick) => element("button", { className: "outlined small", textContent, onclick });

/** @param {ShownEntry} entry */
function marks({ doing, is_open: isOpen }) {
  if (doing) return [mark("busy", "busy")];
  return isOpen ? [mark("open", "open")] : [];
}

/**
 * @param {string} kind
 * @param {string} label
 */
const mark = (kind, label) => element("span", { className: `mark ${kind}`, role: "img", title: label, "aria-label": label });

/** @param {string} iso */
function shortTime(iso) {
  const [day, now] = [shortDate(iso), new Date()];
  if (day === "Today") return timeOfDay(iso);
  now.setDate(now.getDate() - 1);
  return new Date(iso).toDateString() === now.toDateString() ? "yesterday" : day;
}

customElements.define("halo-window-row", WindowRow);
