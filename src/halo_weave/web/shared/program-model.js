// The program as this tab knows it: its model and memory, its windows and jobs. Changed here alone; views read and follow.

/** @import { ProgramEvents } from "./events.js" */
/** @import { Job, ProgramNews, Status, WindowEntry } from "./records.js" */
import { Emitter } from "./emitter.js";

/** @extends {Emitter<ProgramEvents>} */
export class ProgramModel extends Emitter {
  /** @type {Status | null} */
  #status = null;
  /** @type {readonly WindowEntry[]} */
  #windows = [];
  /** @type {readonly Job[]} */
  #jobs = [];
  /** @type {Set<string> | null} */
  #ended = null; // ids of jobs that were known to have ended

  /** @returns {Readonly<Status> | null} */
  get status() {
    return this.#status;
  }

  get windows() {
    return this.#windows;
  }

  get jobs() {
    return this.#jobs;
  }

  /** @param {ProgramNews} news */
  apply({ state, events = [] }) {
    if (state) {
      this.setStatus(state.status);
      this.setWindows(state.windows);
      this.setJobs(state.jobs);
      return;
    }
    for (const { kind, data } of events) {
      if (kind === "status") this.setStatus(data);
      else if (kind === "windows") this.setWindows(data);
      else this.setJobs(data);
    }
  }

  /** @param {Status} status */
  setStatus(status) {
    this.#status = status;
    this.emit("status", status);
    if (status.jobs) this.setJobs(status.jobs);
  }

  /** @param {WindowEntry[]} windows */
  setWindows(windows) {
    this.#windows = windows;
    this.emit("windows", windows);
  }

  /** @param {readonly Job[]} jobs */
  setJobs(jobs) {
    this.#jobs = jobs;
    const before = this.#ended;
    const ended = jobs.filter(({ state }) => state !== "running");
    this.#ended = new Set(ended.map(({ id }) => id));
    for (const job of ended) if (before && !before.has(job.id)) this.emit("job-ended", job);
    this.emit("jobs", jobs);
  }

  /**
   * A job that the server has just begun, before its events come.
   * @param {Job} job
   */
  addJob(job) {
    if (!this.#jobs.some(({ id }) => id === job.id)) this.setJobs([...this.#jobs, job]);
  }
}
