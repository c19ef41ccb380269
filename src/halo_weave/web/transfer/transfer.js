// Export, import and backup of the whole memory.

import { JobList } from "../jobs/job-list.js";
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { bytes } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";

export class Transfer extends Part {
  #picker = element("input", { type: "file", className: "unseen", "aria-label": "File to import", tabIndex: -1 });
  #zone = element("div", { className: "drop" });
  #note = element("p", { role: "status", className: "quiet" });

  start() {
    const choose = element("button", { className: "outlined", textContent: "Choose a file", onclick: () => this.#picker.click() });
    this.#zone.replaceChildren(choose, element("span", { className: "quiet", textContent: "or drop it here" }), this.#picker);
    this.replaceChildren(
      part("Export", "All messages, notes and the memory tree in one file of JSON lines. Import it into an empty memory to get the same memory again.", ...this.#offer("Download the export", "export")),
      part(
        "Import",
        "Accepts an export of this program or of the browser version of Halo Weave. Existing content stays. If any part of the file is invalid, nothing is imported. Imported turns go to the memory, not to the context.",
        this.#zone,
        this.#note,
        new JobList("import"),
      ),
      part("Backup", "A copy of the whole database, including windows with their settings, and vectors. To use it, start with --db and its path.", ...this.#offer("Download a backup", "backup")),
    );
    this.#picker.onchange = () => this.#send(this.#picker.files?.[0]);
    this.listen(this, "dragover", (event) => this.#hover(event, true));
    this.listen(this, "dragleave", (event) => this.#hover(event, false));
    this.listen(this, "drop", (event) => {
      this.#hover(event, false);
      this.#send(event.dataTransfer?.files[0]);
    });
  }

  /**
   * @param {DragEvent} event
   * @param {boolean} isOver
   */
  #hover(event, isOver) {
    event.preventDefault();
    this.#zone.classList.toggle("over", isOver);
  }

  /** @param {File | undefined} file */
  async #send(file) {
    this.#picker.value = "";
    if (!file) return;
    this.#tell(this.#note, `Uploading ${file.name} (${bytes(file.size)})…`);
    try {
      app.program.addJob(await programApi.import(file));
      this.#tell(this.#note, "");
    } catch (error) {
      this.#tell(this.#note, errorText(error), true);
    }
  }

  /**
   * A button that makes the server create a file, and a note for the result.
   * @param {string} label
   * @param {"export" | "backup"} kind
   */
  #offer(label, kind) {
    const note = element("p", { role: "status", className: "quiet" });
    const button = element("button", { className: "outlined", textContent: label });
    button.onclick = async () => {
      button.disabled = true;
      this.#tell(note, `Preparing the ${kind}…`);
      try {
        const { link, name, bytes: size } = await programApi.makeFile(kind);
        // The browser itself fetches it and writes it to the disk, however large it is.
        element("a", { href: link, download: name }).click();
        this.#tell(note, `The browser is downloading ${name} (${bytes(size)}).`);
      } catch (error) {
        this.#tell(note, errorText(error), true);
      }
      button.disabled = false;
    };
    return [button, note];
  }

  /**
   * @param {HTMLElement} note
   * @param {string} text
   */
  #tell(note, text, isError = false) {
    note.textContent = text;
    note.classList.toggle("problem", isError);
  }
}

/**
 * @param {string} title
 * @param {string} words
 * @param {...HTMLElement} content
 */
const part = (title, words, ...content) => element("section", {}, element("h3", { textContent: title }), element("p", { className: "quiet", textContent: words }), ...content);

customElements.define("halo-transfer", Transfer);
