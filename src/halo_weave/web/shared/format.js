// Numbers and times in words.

/** @param {number | string} number */
export const count = (number) => Number(number).toLocaleString("en");

/**
 * @param {number} number
 * @param {string} word
 */
export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
const shortDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const monthOfYear = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/**
 * @param {string} iso
 * @param {{ ofThisYear: Intl.DateTimeFormat, ofOthers: Intl.DateTimeFormat }} formats
 * @param {Date} now
 */
function dateAs(iso, { ofThisYear, ofOthers }, now) {
  const time = new Date(iso);
  if (time.toDateString() === now.toDateString()) return "Today";
  return (time.getFullYear() === now.getFullYear() ? ofThisYear : ofOthers).format(time);
}

/** @param {string} iso */
export const date = (iso, now = new Date()) => dateAs(iso, { ofThisYear: day, ofOthers: dayOfYear }, now);

/**
 * For lists: without the year, or without the day.
 * @param {string} iso
 */
export const shortDate = (iso, now = new Date()) => dateAs(iso, { ofThisYear: shortDay, ofOthers: monthOfYear }, now);

/** @param {string} iso */
export const timeOfDay = (iso) => hour.format(new Date(iso));

/** @param {string} iso */
export const moment = (iso) => `${date(iso)}, ${timeOfDay(iso)}`;

/** @param {number} value */
export const seconds = (value) => (value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`);

/** @param {number} value */
export const bytes = (value) => {
  const units = ["bytes", "KB", "MB", "GB"];
  let [shown, unit] = [value, 0];
  while (shown >= 1024 && unit < units.length - 1) {
    shown /= 1024;
    unit += 1;
  }
  return `${shown.toFixed(unit && shown < 10 ? 1 : 0)} ${units[unit]}`;
};
