// Long tasks that run beside the conversation: their progress, and a way to stop them.

/** @import { Job } from "../shared/records.js" */
import { programApi } from "../shared/api.js";
import { app } from "../shared/app.js";
import { arrange } from "../shared/arrange.js";
import { element } from "../shared/element.js";
import { count } from "../shared/format.js";
import { attempt } from "../shared/notices.js";
import { Part } from "../shared/part.js";

/** @type {Record<Job["kind"], string>} */
export const JOB_TITLES = { import: "Import", reembed: "Re-embedding" };

/** Shows the jobs that run; for one kind only those, and the result of the last one. */
export class JobList extends Part {
  #kind;
  /** @type {Map<string, ReturnType<typeof jobRow>>} */
  #rows = new Map();

  /** @param {Job["kind"] | null} [kind] */
  constructor(kind = null) {
    super();
    this.#kind = kind;
  }

  start() {
    this.follow(app.program, "jobs", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const ofKind = app.program.jobs.filter((job) => !this.#kind || job.kind === this.#kind);
    const shown = ofKind.filter(({ state }) => state === "running");
    if (this.#kind && !shown.length) shown.push(...ofKind.slice(-1));
    this.#rows = new Map(
      shown.map((job) => {
        const row = this.#rows.get(job.id) ?? jobRow(job.id);
        row.show(job);
        return [job.id, row];
      }),
    );
    arrange(this, [...this.#rows.values()].map(({ root }) => root));
  }
}

/** @param {string} id */
function jobRow(id) {
  const title = element("strong");
  const facts = element("small");
  const bar = element("progress");
  const stop = element("button", { className: "outlined small", textContent: "Stop" });
  stop.onclick = () => attempt(() => programApi.stopJob(id));
  const root = element("div", { className: "job" }, title, stop, bar, facts);
  /** @param {Job} job */
  const show = (job) => {
    const isRunning = job.state === "running";
    title.textContent = JOB_TITLES[job.kind] ?? job.kind;
    stop.setAttribute("aria-label", `Stop: ${title.textContent}`);
    bar.setAttribute("aria-label", title.textContent);
    stop.hidden = bar.hidden = !isRunning;
    if (job.total) [bar.max, bar.value] = [job.total, job.done];
    else bar.removeAttribute("value");
    root.dataset.state = job.state;
    facts.textContent = isRunning ? progress(job) : (job.error ?? job.text);
  };
  return { root, show };
}

/** @param {Job} job */
function progress({ text, done, total, seconds_left: left }) {
  const parts = [text];
  if (total) parts.push(`${count(done)} of ${count(total)}`);
  else if (done) parts.push(count(done));
  if (left) parts.push(left < 90 ? `${Math.ceil(left)} s left` : `${Math.ceil(left / 60)} min left`);
  return parts.join(" · ");
}

customElements.define("halo-jobs", JobList);
