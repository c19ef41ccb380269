// The list of panels at the left. Dialogs opens them; here is what the list itself shows.

import { JOB_TITLES } from "../jobs/job-list.js";
import { app } from "../shared/app.js";
import { find } from "../shared/element.js";
import { plural } from "../shared/format.js";
import { say } from "../shared/notices.js";
import { Part } from "../shared/part.js";

export class Menu extends Part {
  start() {
    const size = find(this, "#memory-size", HTMLElement);
    const side = find(document, "#left", HTMLElement);
    this.follow(app.program, "status", ({ memory }) => (size.textContent = `Ctrl K · ${plural(memory.chunks - memory.deleted, "chunk")}`));
    this.follow(app.program, "job-ended", ({ kind, state, text, error }) => {
      const title = JOB_TITLES[kind] ?? kind;
      if (state === "failed") say(`${title} failed: ${error}`, { isError: true, seconds: 20 });
      else say(`${title}: ${text}.`);
    });
    this.listen(side, "click", ({ target }) => {
      if (target instanceof Element && target.closest(".item")) side.classList.remove("open");
    });
  }
}

customElements.define("halo-menu", Menu);
