// Long work beside the conversation: how far it is, and a way to stop it.

import { app } from "../shared/app.js";
import { post } from "../shared/api.js";
import { count, element } from "../shared/format.js";
import { Part, arrange } from "../shared/part.js";

const TITLES = { import: "Import", reembed: "Re-embedding" };

// The newest word about all jobs.
class Jobs extends EventTarget {
  all = [];
  #ended = null; // ids that were known to have ended

  constructor() {
    super();
    app.addEventListener("program-jobs", ({ detail }) => this.take(detail));
    app.addEventListener("status", ({ detail }) => detail.jobs && this.take(detail.jobs));
  }

  take(all) {
    this.all = all;
    const ended = all.filter(({ state }) => state !== "running");
    for (const job of ended) if (this.#ended?.has(job.id) === false) tellEnd(job);
    this.#ended = new Set(ended.map(({ id }) => id));
    this.dispatchEvent(new CustomEvent("change"));
  }

  // A job that the server has just begun, before its events come.
  add(job) {
    if (!this.all.some(({ id }) => id === job.id)) this.take([...this.all, job]);
  }
}

export const jobs = new Jobs();

function tellEnd({ kind, state, text, error }) {
  const title = TITLES[kind] ?? kind;
  if (state === "failed") app.say(`${title} failed: ${error}`, { isError: true, seconds: 20 });
  else app.say(`${title}: ${text}.`);
}

// Shows the jobs that run; with the attribute `kind` only those, and how the last of them ended.
class JobList extends Part {
  #rows = new Map();

  start() {
    this.follow(jobs, "change", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const kind = this.getAttribute("kind");
    const ofKind = jobs.all.filter((job) => !kind || job.kind === kind);
    const shown = ofKind.filter(({ state }) => state === "running");
    if (kind && !shown.length) shown.push(...ofKind.slice(-1));
    const rows = new Map(shown.map((job) => [job.id, this.#rows.get(job.id) ?? jobRow(job.id)]));
    for (const job of shown) rows.get(job.id).show(job);
    this.#rows = rows;
    arrange(this, [...rows.values()].map(({ root }) => root));
  }
}

function jobRow(id) {
  const title = element("strong");
  const facts = element("small");
  const bar = element("progress");
  const stop = element("button", { className: "outlined small", textContent: "Stop" });
  stop.onclick = () => app.attempt(() => post(`/api/jobs/${encodeURIComponent(id)}/stop`));
  const root = element("div", { className: "job" }, title, stop, bar, facts);
  const show = (job) => {
    const isRunning = job.state === "running";
    title.textContent = TITLES[job.kind] ?? job.kind;
    stop.setAttribute("aria-label", `Stop: ${title.textContent}`);
    bar.setAttribute("aria-label", title.textContent);
    stop.hidden = bar.hidden = !isRunning;
    if (job.total) [bar.max, bar.value] = [job.total, job.done];
    else bar.removeAttribute("value");
    root.dataset.state = job.state;
    facts.textContent = isRunning ? howFar(job) : (job.error ?? job.text);
  };
  return { root, show };
}

function howFar({ text, done, total, seconds_left: left }) {
  const parts = [text];
  if (total) parts.push(`${count(done)} of ${count(total)}`);
  else if (done) parts.push(count(done));
  if (left) parts.push(left < 90 ? `${Math.ceil(left)} s left` : `${Math.ceil(left / 60)} min left`);
  return parts.join(" · ");
}

customElements.define("halo-jobs", JobList);
