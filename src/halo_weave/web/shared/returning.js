// Bring a chunk back from the memory and show where it stands now.

import { app } from "./app.js";
import { keyText } from "./api.js";

const LONGEST_WAIT = 5000;

export async function resurrect(key) {
  const answer = await app.attempt(() => app.api.chunk(key, "resurrect"));
  if (answer === undefined) return false;
  jumpOnceLiving(keyText(key));
  return true;
}

// What is undeleted lives again if this window remembers how it lived; else it is in the memory alone.
export async function undelete(key) {
  const waiting = new AbortController();
  const heard = undeletion(keyText(key), waiting.signal);
  const answer = await app.attempt(() => app.api.undelete([key]));
  if (answer !== undefined) await heard;
  waiting.abort();
  if (answer === undefined) return false;
  if (app.model.get(keyText(key))) app.jumpTo(keyText(key));
  else app.say("It is in the memory again, but not in the context of this window.", { action: { label: "Resurrect", run: () => resurrect(key) } });
  return true;
}

// Resolves once the page has heard of it, or has waited long enough.
const undeletion = (key, signal) =>
  new Promise((resolve) => {
    app.model.addEventListener("undeleted", ({ detail }) => detail.includes(key) && resolve(), { signal });
    app.model.addEventListener("reset", resolve, { signal });
    const timer = setTimeout(resolve, LONGEST_WAIT);
    signal.addEventListener("abort", () => clearTimeout(timer));
  });

// The answer may be here before the event that puts the chunk on the page.
function jumpOnceLiving(key) {
  if (app.model.get(key)) {
    requestAnimationFrame(() => app.jumpTo(key));
    return;
  }
  const waiting = new AbortController();
  const look = () => {
    if (!app.model.get(key)) return;
    waiting.abort();
    requestAnimationFrame(() => app.jumpTo(key));
  };
  for (const type of ["chunks", "reset"]) app.model.addEventListener(type, look, { signal: waiting.signal });
  setTimeout(() => waiting.abort(), LONGEST_WAIT);
}
