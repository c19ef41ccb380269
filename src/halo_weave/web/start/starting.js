// The page's first step, repeated until it succeeds. While it fails, the page says why and when it will try again.

import { element } from "../shared/element.js";
import { errorText } from "../shared/request.js";
import { pause } from "../shared/waiting.js";

const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;
const COUNTED_EVERY_MS = 250;

/**
 * Run `action` until it succeeds.
 * @param {() => Promise<void>} action
 * @param {Element} place where a problem is shown meanwhile
 */
export async function untilStarted(action, place) {
  for (let seconds = FIRST_PAUSE_S; ; seconds = Math.min(2 * seconds, LONGEST_PAUSE_S)) {
    try {
      return await action();
    } catch (error) {
      await countdown(errorText(error), seconds, place);
    }
  }
}

/**
 * Ends after so many seconds, or when the person asks.
 * @param {string} problem
 * @param {number} seconds
 * @param {Element} place
 */
async function countdown(problem, seconds, place) {
  const skipped = new AbortController();
  const when = element("span", { className: "quiet" });
  const now = element("button", { className: "outlined", textContent: "Try now", onclick: () => skipped.abort() });
  const view = element("div", { className: "start-problem" }, element("p", { role: "alert", textContent: `The page could not start: ${problem}` }), when, now);
  place.append(view);
  const until = Date.now() + 1000 * seconds;
  while (Date.now() < until && !skipped.signal.aborted) {
    when.textContent = `Trying again in ${Math.ceil((until - Date.now()) / 1000)} s.`;
    await pause(COUNTED_EVERY_MS, skipped.signal);
  }
  view.remove();
}
