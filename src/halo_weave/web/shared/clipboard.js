// Copying. Browsers offer their clipboard only to pages that came over HTTPS or from this machine; elsewhere a selected
// text can still be copied as a person would do it.

import { app } from "./app.js";
import { element } from "./format.js";

// Whether it was copied; if not, the person has been told.
export async function copyText(text) {
  const isCopied = (await viaClipboard(text)) || viaSelection(text);
  if (!isCopied) app.say("The browser did not allow copying here. Select the text and press Ctrl+C.", { isError: true });
  return isCopied;
}

async function viaClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // there is no clipboard, or it is not allowed
  }
}

function viaSelection(text) {
  const focused = document.activeElement;
  const ranges = selectedRanges();
  const box = element("textarea", { className: "unseen", value: text, readOnly: true, "aria-hidden": "true" });
  document.body.append(box);
  box.focus({ preventScroll: true });
  box.select();
  let isCopied = false;
  try {
    isCopied = document.execCommand("copy");
  } finally {
    box.remove();
    focused?.focus({ preventScroll: true });
    select(ranges);
  }
  return isCopied;
}

function selectedRanges() {
  const selection = getSelection();
  return Array.from({ length: selection.rangeCount }, (_, place) => selection.getRangeAt(place).cloneRange());
}

function select(ranges) {
  const selection = getSelection();
  selection.removeAllRanges();
  for (const range of ranges) selection.addRange(range);
}
