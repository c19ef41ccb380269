// Dark, light, or like the system. Loaded before the rest, so that the page is not painted twice. Its listeners live as
// long as the page.

const STORAGE_KEY = "halo-theme";
const prefersLight = matchMedia("(prefers-color-scheme: light)");

export const themeChoice = () => localStorage.getItem(STORAGE_KEY) ?? "system";

/** @param {string} choice dark, light or system */
export function chooseTheme(choice) {
  localStorage.setItem(STORAGE_KEY, choice);
  apply();
}

function apply() {
  const choice = themeChoice();
  const system = prefersLight.matches ? "light" : "dark";
  document.documentElement.dataset.theme = choice === "system" ? system : choice;
}

apply();
prefersLight.addEventListener("change", apply);
addEventListener("storage", ({ key }) => key === STORAGE_KEY && apply());
