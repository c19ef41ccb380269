// Numbers and times in words.

export const count = (number) => Number(number).toLocaleString("en");

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

export function date(iso, now = new Date()) {
  const time = new Date(iso);
  if (time.toDateString() === now.toDateString()) return "Today";
  return (time.getFullYear() === now.getFullYear() ? day : dayOfYear).format(time);
}

export const moment = (iso) => `${date(iso)}, ${hour.format(new Date(iso))}`;

export const seconds = (value) => (value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`);

export const bytes = (value) => {
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(unit && value < 10 ? 1 : 0)} ${units[unit]}`;
};

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on") || name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
