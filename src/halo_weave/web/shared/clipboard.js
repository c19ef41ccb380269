// Copying. Browsers offer their clipboard only to pages that came over HTTPS or from this machine; elsewhere a selected
// text can still be copied as a person would do it.

import { element } from "./element.js";
import { say } from "./notices.js";

/**
 * Whether it was copied; if not, the person has been told.
 * @param {string} text
 */
export async function copyText(text) {
  const isCopied = (await viaClipboard(text)) || viaSelection(text);
  if (!isCopied) say("The browser does not allow copying here. Select the text and press Ctrl+C.", { isError: true });
  return isCopied;
}

/** @param {string} text */
async function viaClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // there is no clipboard, or it is not allowed
  }
}

/** @param {string} text */
function viaSelection(text) {
  const focused = document.activeElement;
  const ranges = selectedRanges();
  const box = element("textarea", { className: "unseen", value: text, readOnly: true, "aria-hidden": "true" });
  document.body.append(box);
  box.focus({ preventScroll: true });
  box.select();
  try {
    return document.execCommand("copy");
  } finally {
    box.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    select(ranges);
  }
}

function selectedRanges() {
  const selection = getSelection();
  return Array.from({ length: selection?.rangeCount ?? 0 }, (_, place) => selection?.getRangeAt(place).cloneRange());
}

/** @param {(Range | undefined)[]} ranges */
function select(ranges) {
  const selection = getSelection();
  selection?.removeAllRanges();
  for (const range of ranges) if (range) selection?.addRange(range);
}
