// Give every chunk of the memory a vector of the current embedder.

import { JobList } from "../jobs/job-list.js";
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";

export class Reembedding extends Part {
  #help = element("p", { className: "quiet" });
  #button = element("button", { className: "outlined", textContent: "Embed the memory again" });
  #note = element("p", { className: "setting-note problem", role: "status" });

  start() {
    this.replaceChildren(element("h4", { textContent: "Re-embedding" }), this.#help, this.#button, this.#note, new JobList("reembed"));
    this.#button.onclick = () => this.#begin();
    this.follow(app.program, ["status", "jobs"], () => this.#draw());
    this.#draw();
  }

  #draw() {
    const memory = app.program.status?.memory;
    const missing = memory ? ` ${count(memory.missing_vectors)} of ${count(memory.chunks - memory.deleted)} chunks have no vector of ${memory.embedder} yet.` : "";
    this.#help.textContent = `Search uses the old vectors until all are new. You can stop at any time and continue later.${missing}`;
    this.#button.disabled = app.program.jobs.some(({ kind, state }) => kind === "reembed" && state === "running");
  }

  async #begin() {
    this.#note.textContent = "";
    try {
      app.program.addJob(await programApi.reembed());
    } catch (error) {
      this.#note.textContent = errorText(error);
    }
  }
}

customElements.define("halo-reembedding", Reembedding);
