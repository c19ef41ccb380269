// Give every chunk of the memory a vector of the embedder that is set.

import { app } from "../shared/app.js";
import { post } from "../shared/api.js";
import { count, element } from "../shared/format.js";
import { jobs } from "../jobs/jobs.js";
import { Part } from "../shared/part.js";

class Reembedding extends Part {
  #words = element("p", { className: "quiet" });
  #button = element("button", { className: "outlined", textContent: "Embed the memory again" });
  #note = element("p", { className: "setting-note problem", role: "status" });

  start() {
    this.replaceChildren(element("h4", { textContent: "Re-embedding" }), this.#words, this.#button, this.#note, element("halo-jobs", { kind: "reembed" }));
    this.#button.onclick = () => this.#begin();
    this.follow(app, "status", () => this.#draw());
    this.follow(jobs, "change", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const memory = app.status?.memory;
    const missing = memory ? ` ${count(memory.missing_vectors)} of ${count(memory.chunks - memory.deleted)} chunks are without a vector of ${memory.embedder}.` : "";
    this.#words.textContent = `Search goes on with the old vectors until all are new; it can be stopped and goes on where it was.${missing}`;
    this.#button.disabled = jobs.all.some(({ kind, state }) => kind === "reembed" && state === "running");
  }

  async #begin() {
    this.#note.textContent = "";
    try {
      jobs.add(await post("/api/reembed"));
    } catch (error) {
      this.#note.textContent = error.message;
    }
  }
}

customElements.define("halo-reembedding", Reembedding);
