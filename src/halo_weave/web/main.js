// Starts the page: the window that was open last, or the first that there is.

import "./shared/theme.js";
import "./brightness/card.js";
import "./brightness/heat-loader.js";
import "./brightness/legend.js";
import "./brightness/minimap.js";
import "./composer/composer.js";
import "./dialogs/dialogs.js";
import "./graveyard/graveyard.js";
import "./jobs/job-list.js";
import "./start/header.js";
import "./start/keyboard.js";
import "./start/menu.js";
import "./timeline/past-banner.js";
import "./timeline/timeline.js";
import "./transcript/transcript.js";
import "./windows/window-bar.js";
import "./windows/windows.js";
import { programApi } from "./shared/api.js";
import { app } from "./shared/app.js";
import { find } from "./shared/element.js";
import { linkedPlace } from "./start/links.js";
import { untilStarted } from "./start/starting.js";

// A window can be created once the model is available.
async function firstWindow() {
  while (app.program.status?.engine.state !== "ready") await app.program.next("status");
  return programApi.newWindow("ordinary", "main");
}

async function openFirst() {
  const windows = await programApi.windows();
  const wanted = [linkedPlace()?.windowId, localStorage.getItem("halo-window")];
  const linked = wanted.map((id) => windows.find((one) => one.id === id)).find(Boolean);
  const known = linked ?? windows.find((one) => !one.is_private) ?? windows[0];
  app.open((known ?? (await firstWindow())).id);
}

app.followProgram();
untilStarted(openFirst, find(document, "main", HTMLElement));
