// How the speakers are called on this page.

import { app } from "./app.js";

const PLACE = "halo-names";
export const DEFAULT_NAMES = { user: "You", assistant: "Halo", system: "System" };

export const names = () => ({ ...DEFAULT_NAMES, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") });

// An empty name brings the default back.
export function setName(role, name) {
  const { [role]: _, ...others } = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
  const chosen = name.trim();
  localStorage.setItem(PLACE, JSON.stringify(chosen ? { ...others, [role]: chosen } : others));
  app.dispatchEvent(new CustomEvent("names"));
}
