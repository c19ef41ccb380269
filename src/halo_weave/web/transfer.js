// Export, import and backup of the whole memory.

import { jobs } from "./jobs.js";
import { upload } from "./api.js";
import { bytes, element } from "./format.js";
import { Part } from "./part.js";

class Transfer extends Part {
  #picker = element("input", { type: "file", className: "unseen", "aria-label": "File to import", tabIndex: -1 });
  #zone = element("div", { className: "drop" });
  #note = element("p", { role: "status", className: "quiet" });
  #backup = element("button", { className: "outlined", textContent: "Download a backup" });
  #backupNote = element("p", { role: "status", className: "quiet" });

  start() {
    const download = element("a", { className: "outlined button", href: "/api/export", download: "", textContent: "Download the export" });
    const choose = element("button", { className: "outlined", textContent: "Choose a file", onclick: () => this.#picker.click() });
    this.#zone.append(choose, element("span", { className: "quiet", textContent: "or drop it here" }), this.#picker);
    this.replaceChildren(
      part("Export", "Everything that was ever said, with notes and memory tree, in one file of JSON lines. Importing it into an empty memory gives the same memory again.", download),
      part(
        "Import",
        "Takes an export of this program, or of the browser Halo Weave. What is there already stays; all of the file is taken or nothing. Imported turns enter the memory, not the context.",
        this.#zone,
        this.#note,
        element("halo-jobs", { kind: "import" }),
      ),
      part("Backup", "A copy of the memory's database, with everything in it: windows, vectors, settings of windows. To go back to it, start with --db and its path.", this.#backup, this.#backupNote),
    );
    this.#picker.onchange = () => this.#send(this.#picker.files[0]);
    this.#backup.onclick = () => this.#saveBackup();
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

  // A link cannot ask for it: the server makes backups only on a POST of the page itself.
  async #saveBackup() {
    this.#backup.disabled = true;
    this.#tell(this.#backupNote, "Making the backup…");
    try {
      const answer = await fetch("/api/backup", { method: "POST", headers: { "X-Halo": "1" } });
      if (!answer.ok) throw new Error((await answer.json()).error);
      save(await answer.blob(), /filename="?([^";]+)/u.exec(answer.headers.get("Content-Disposition") ?? "")?.[1]);
      this.#tell(this.#backupNote, "The backup is among your downloads.");
    } catch (error) {
      this.#tell(this.#backupNote, error.message, true);
    }
    this.#backup.disabled = false;
  }

  #tell(note, text, isError = false) {
    note.textContent = text;
    note.classList.toggle("problem", isError);
  }
}

function save(blob, name = "halo-weave.db") {
  const href = URL.createObjectURL(blob);
  element("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

const part = (title, words, ...content) => element("section", {}, element("h3", { textContent: title }), element("p", { className: "quiet", textContent: words }), ...content);

customElements.define("halo-transfer", Transfer);
