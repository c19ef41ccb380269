// Bring a chunk back from the memory and show where it stands now.

/** @import { Key } from "../shared/records.js" */
import { app } from "../shared/app.js";
import { keyText } from "../shared/chunk-key.js";
import { attempt, say } from "../shared/notices.js";

const LONGEST_WAIT_MS = 5000;

/**
 * Whether it returned.
 * @param {Key} key
 */
export async function resurrect(key) {
  const answer = await attempt(() => app.api.chunk(key, "resurrect"));
  if (answer === undefined) return false;
  jumpOnceInContext(keyText(key));
  return true;
}

/**
 * An undeleted chunk is in context again if this window remembers its brightness; otherwise it is in the memory alone.
 * @param {Key} key
 */
export async function undelete(key) {
  const waiting = new AbortController();
  const heard = undeletion(keyText(key), AbortSignal.any([waiting.signal, AbortSignal.timeout(LONGEST_WAIT_MS)]));
  const answer = await attempt(() => app.api.undelete([key]));
  if (answer !== undefined) await heard;
  waiting.abort();
  if (answer === undefined) return false;
  if (app.model.get(keyText(key))) app.jumpTo(keyText(key));
  else say("Restored to the memory, but not to the context of this window.", { action: { label: "Resurrect", run: () => resurrect(key) } });
  return true;
}

/**
 * Resolves once the page has heard of it, or has waited long enough.
 * @param {string} key
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const undeletion = (key, signal) =>
  new Promise((resolve) => {
    app.model.on("undeleted", (keys) => keys.includes(key) && resolve(), { signal });
    app.model.next("reset", { signal }).then(resolve); // also when the signal is aborted
  });

/**
 * The answer may be here before the event that puts the chunk on the page.
 * @param {string} key
 */
async function jumpOnceInContext(key) {
  const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
  while (!app.model.get(key) && !signal.aborted) await nextChange(signal);
  if (app.model.get(key)) app.jumpTo(key);
}

/** @param {AbortSignal} within */
async function nextChange(within) {
  const change = new AbortController();
  const signal = AbortSignal.any([within, change.signal]);
  await Promise.race([app.model.next("chunks", { signal }), app.model.next("reset", { signal })]);
  change.abort();
}
