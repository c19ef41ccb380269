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

// The answer may be here before the event that puts the chunk on the page.
export function jumpOnceLiving(key) {
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
