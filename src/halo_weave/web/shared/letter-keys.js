// Whether single letters act as keys outside text fields. People who dictate can switch them off.

const STORAGE_KEY = "halo-letter-keys";

export const hasLetterKeys = () => localStorage.getItem(STORAGE_KEY) !== "off";

/** @param {boolean} isOn */
export const setLetterKeys = (isOn) => localStorage.setItem(STORAGE_KEY, isOn ? "on" : "off");
