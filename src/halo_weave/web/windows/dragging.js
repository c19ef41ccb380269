// Put windows in order with the mouse.

/** @import { Part } from "../shared/part.js" */
import { WindowRow } from "./window-row.js";

/**
 * @param {Part} part whose life the listeners share
 * @param {HTMLElement} area that contains lists of rows, each with its folder in `data-folder`
 * @param {(id: string, folder: string, before: string | null) => void} move
 */
export function makeSortable(part, area, move) {
  /** @type {WindowRow | null} */
  let dragged = null;
  const unmark = () => area.querySelectorAll(".drop-before, .drop-after").forEach((one) => one.classList.remove("drop-before", "drop-after"));
  part.listen(area, "dragstart", (event) => {
    dragged = event.target instanceof WindowRow && event.target.isMovable ? event.target : null;
    if (!dragged) return event.preventDefault();
    event.dataTransfer?.setData("text/plain", dragged.windowId);
    if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
  });
  part.listen(area, "dragover", (event) => {
    const place = dragged && placeAt(event, dragged);
    unmark();
    if (!place) return;
    event.preventDefault();
    place.row?.classList.add(place.isAfter ? "drop-after" : "drop-before");
  });
  part.listen(area, "drop", (event) => {
    const place = dragged && placeAt(event, dragged);
    unmark();
    if (!dragged || !place) return;
    event.preventDefault();
    const next = place.row && place.isAfter ? place.row.nextElementSibling : place.row;
    move(dragged.windowId, place.folder, next instanceof WindowRow ? next.windowId : null);
  });
  part.listen(area, "dragend", () => {
    dragged = null;
    unmark();
  });
}

/**
 * @param {DragEvent} event
 * @param {WindowRow} dragged
 */
function placeAt(event, dragged) {
  if (!(event.target instanceof Element)) return null;
  const list = event.target.closest("[data-folder]") ?? event.target.closest("details")?.querySelector("[data-folder]");
  const row = event.target.closest("halo-window-row");
  if (!(list instanceof HTMLElement) || row === dragged) return null;
  if (!(row instanceof WindowRow)) return { folder: list.dataset.folder ?? "", row: null, isAfter: false };
  if (!row.isMovable) return null;
  const { top, height } = row.getBoundingClientRect();
  return { folder: list.dataset.folder ?? "", row, isAfter: event.clientY > top + height / 2 };
}
