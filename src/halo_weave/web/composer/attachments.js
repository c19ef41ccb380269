// The text files that go with the next message: chosen, dropped or pasted.

/** @import { TextFile } from "./text-file.js" */
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { announce, say } from "../shared/notices.js";
import { Part } from "../shared/part.js";
import { readTextFile } from "./text-file.js";

export class Attachments extends Part {
  /** @type {TextFile[]} */
  #files = [];
  #chooser = element("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach" });
  #list = element("ul", { className: "plain attached", "aria-label": "Attached files" });

  start() {
    this.replaceChildren(this.#chooser, this.#list);
    this.#chooser.onchange = async () => {
      await this.take(this.#chooser.files);
      this.#chooser.value = "";
    };
    const area = this.closest("main") ?? this;
    this.listen(area, "dragover", (event) => {
      if (!hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      area.classList.add("dropping");
    });
    this.listen(area, "dragleave", (event) => {
      if (!(event.relatedTarget instanceof Node && area.contains(event.relatedTarget))) area.classList.remove("dropping");
    });
    this.listen(area, "drop", (event) => {
      area.classList.remove("dropping");
      if (!hasFiles(event.dataTransfer)) return;
      event.preventDefault();
      this.take(event.dataTransfer?.files);
    });
    this.#draw();
  }

  get files() {
    return this.#files;
  }

  choose() {
    this.#chooser.click();
  }

  clear() {
    this.#files = [];
    this.#draw();
  }

  /** @param {FileList | null | undefined} files */
  async take(files) {
    for (const file of files ?? []) {
      try {
        this.#files = [...this.#files, await readTextFile(file)];
        announce(`${file.name} is attached.`);
      } catch (error) {
        say(error instanceof Error ? error.message : String(error), { isError: true });
      }
    }
    this.#draw();
  }

  #draw() {
    this.hidden = !this.#files.length;
    this.#list.replaceChildren(...this.#files.map((file) => this.#chip(file)));
    this.send("attached");
  }

  /** @param {TextFile} file */
  #chip(file) {
    const remove = element("button", { type: "button", className: "icon-button", textContent: "×", "aria-label": `Remove ${file.name}` });
    remove.onclick = () => {
      this.#files = this.#files.filter((one) => one !== file);
      this.#draw();
    };
    return element("li", {}, element("span", { textContent: file.name }), element("small", { textContent: `${count(file.text.length)} characters` }), remove);
  }
}

/** @param {DataTransfer | null} transfer */
const hasFiles = (transfer) => Boolean(transfer?.types.includes("Files"));

customElements.define("halo-attachments", Attachments);
