// Dark, light, or as the system has it. Loaded before the rest, so that the page is not painted twice.

const PLACE = "halo-theme";
const prefersLight = matchMedia("(prefers-color-scheme: light)");

export const themeChoice = () => localStorage.getItem(PLACE) ?? "system";

export function chooseTheme(choice) {
  localStorage.setItem(PLACE, choice);
  apply();
}

function apply() {
  const choice = themeChoice();
  const system = prefersLight.matches ? "light" : "dark";
  document.documentElement.dataset.theme = choice === "system" ? system : choice;
}

apply();
prefersLight.addEventListener("change", apply);
addEventListener("storage", ({ key }) => key === PLACE && apply());
