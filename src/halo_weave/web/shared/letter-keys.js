// Whether single letters act as keys outside of text fields. Whoever speaks to the machine can switch them off.

const PLACE = "halo-letter-keys";

export const hasLetterKeys = () => localStorage.getItem(PLACE) !== "off";

export const setLetterKeys = (isOn) => localStorage.setItem(PLACE, isOn ? "on" : "off");
