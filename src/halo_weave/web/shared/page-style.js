// How the page looks apart from its theme: size of the text, length of its lines, colours of the heat, spacing. Kept in
// this browser. Loaded before the rest, so that the page is not painted twice. Its listeners live as long as the page.

/** @typedef {{ size: number, width: string, ramp: string, isCompact: boolean }} PageStyle */

const STORAGE_KEY = "halo-page-style";
export const SIZES = { least: 12, most: 24 };
/** Values of --line-width by name.
 * @type {Record<string, string>}
 */
export const WIDTHS = { narrow: "40rem", normal: "52rem", wide: "70rem", full: "none" };
export const RAMPS = ["amber", "ocean", "rose", "grey"];
/** @type {PageStyle} */
export const DEFAULT_STYLE = { size: 15, width: "normal", ramp: "amber", isCompact: false };

/** @returns {PageStyle} */
export function pageStyle() {
  const { size, width, ramp, isCompact } = stored();
  return {
    size: typeof size === "number" && size >= SIZES.least && size <= SIZES.most ? size : DEFAULT_STYLE.size,
    width: typeof width === "string" && width in WIDTHS ? width : DEFAULT_STYLE.width,
    ramp: typeof ramp === "string" && RAMPS.includes(ramp) ? ramp : DEFAULT_STYLE.ramp,
    isCompact: isCompact === true,
  };
}

/** @param {Partial<PageStyle>} changes */
export function changePageStyle(changes) {
  localStorage.setItem(STORAGE_KEY, JSON.stringify({ ...pageStyle(), ...changes }));
  apply();
}

/** @returns {Record<string, unknown>} */
function stored() {
  try {
    const value = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
    return value && typeof value === "object" ? value : {};
  } catch {
    return {}; // not written by this page
  }
}

function apply() {
  const { size, width, ramp, isCompact } = pageStyle();
  const root = document.documentElement;
  root.style.setProperty("--text-size", `${size}px`);
  root.style.setProperty("--line-width", WIDTHS[width]);
  root.dataset.ramp = ramp;
  root.toggleAttribute("data-compact", isCompact);
}

apply();
addEventListener("storage", ({ key }) => key === STORAGE_KEY && apply());
