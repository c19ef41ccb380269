// Whether text returns from the memory by itself in the open window.

import { app } from "../shared/app.js";
import { announce, attempt } from "../shared/notices.js";

const SETTING = "weave.resurrection";

/** @param {boolean} isOn */
export async function setRecall(isOn) {
  const { info } = app.model;
  if (!info) return;
  const changed = await attempt(() => app.api.change({ overrides: { ...info.overrides, [SETTING]: isOn } }));
  if (changed) announce(`Recall is ${isOn ? "on" : "off"} in this window.`);
}
