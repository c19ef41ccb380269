// Export, import and backup of the whole memory.

import { jobs } from "../jobs/jobs.js";
import { post, upload } from "../shared/api.js";
import { bytes, element } from "../shared/format.js";
import { Part } from "../shared/part.js";

class Transfer extends Part {
  #picker = element("input", { type: "file", className: "unseen", "aria-label": "File to import", tabIndex: -1 });
  #zone = element("div", { className: "drop" });
  #note = element("p", { role: "status", className: "quiet" });

  start() {
    const choose = element("button", { className: "outlined", textContent: "Choose a file", onclick: () => this.#picker.click() });
    this.#zone.append(choose, element("span", { className: "quiet", textContent: "or drop it here" }), this.#picker);
    this.replaceChildren(
      part("Export", "Everything that was ever said, with notes and memory tree, in one file of JSON lines. Importing it into an empty memory gives the same memory again.", ...this.#offer("Download the export", "export")),
      part(
        "Import",
        "Takes an export of this program, or of the browser Halo Weave. What is there already stays; all of the file is taken or nothing. Imported turns enter the memory, not the context.",
        this.#zone,
        this.#note,
        element("halo-jobs", { kind: "import" }),
      ),
      part("Backup", "A copy of the memory's database, with everything in it: windows, vectors, settings of windows. To go back to it, start with --db and its path.", ...this.#offer("Download a backup", "backup")),
    );
    this.#picker.onchange = () => this.#send(this.#picker.files[0]);
    this.follow(this, "dragover", (event) => this.#hover(event, true));
    this.follow(this, "dragleave", (event) => this.#hover(event, false));
    this.follow(this, "drop", (event) => {
      this.#hover(event, false);
      this.#send(event.dataTransfer.files[0]);
    });
  }

  #hover(event, isOver) {
    event.preventDefault();
    this.#zone.classList.toggle("over", isOver);
  }

  async #send(file) {
    this.#picker.value = "";
    if (!file) return;
    this.#tell(this.#note, `Sending ${file.name} (${bytes(file.size)})…`);
    try {
      jobs.add(await upload("/api/import", file));
      this.#tell(this.#note, "");
    } catch (error) {
      this.#tell(this.#note, error.message, true);
    }
  }

  // A button that has the server make a file, and what came of it.
  #offer(label, kind) {
    const note = element("p", { role: "status", className: "quiet" });
    const button = element("button", { className: "outlined", textContent: label });
    button.onclick = async () => {
      button.disabled = true;
      this.#tell(note, `Making the ${kind}…`);
      try {
        const { link, name, bytes: size } = await post(`/api/${kind}`);
        // The browser itself fetches it and writes it to the disk, however large it is.
        element("a", { href: link, download: name }).click();
        this.#tell(note, `The browser is downloading ${name} (${bytes(size)}).`);
      } catch (error) {
        this.#tell(note, error.message, true);
      }
      button.disabled = false;
    };
    return [button, note];
  }

  #tell(note, text, isError = false) {
    note.textContent = text;
    note.classList.toggle("problem", isError);
  }
}

const part = (title, words, ...content) => element("section", {}, element("h3", { textContent: title }), element("p", { className: "quiet", textContent: words }), ...content);

customElements.define("halo-transfer", Transfer);
