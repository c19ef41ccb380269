// The page's first step, tried until it succeeds. While it fails, the page says why and when it will try again.

import { element } from "../shared/format.js";

const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;

// Run `action` until it succeeds; `place` is where a problem is shown meanwhile.
export async function untilStarted(action, place) {
  for (let pause = FIRST_PAUSE_S; ; pause = Math.min(2 * pause, LONGEST_PAUSE_S)) {
    try {
      return await action();
    } catch (error) {
      await shownPause(error, pause, place);
    }
  }
}

// Ends after so many seconds, or when the person asks.
function shownPause(error, pause, place) {
  const when = element("span", { className: "quiet" });
  const now = element("button", { className: "outlined", textContent: "Try now" });
  const view = element("div", { className: "start-problem" }, element("p", { role: "alert", textContent: `The page could not start: ${error.message}` }), when, now);
  return new Promise((resolve) => {
    const until = Date.now() + 1000 * pause;
    const end = () => {
      clearInterval(timer);
      view.remove();
      resolve();
    };
    const tell = () => {
      const left = Math.ceil((until - Date.now()) / 1000);
      if (left <= 0) end();
      else when.textContent = `Trying again in ${left} s.`;
    };
    const timer = setInterval(tell, 250);
    now.onclick = end;
    tell();
    place.append(view);
  });
}
