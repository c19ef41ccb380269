// Starts the page: the window that was open last, or the first that there is.

import "./shared/theme.js";
import { app } from "./shared/app.js";
import { get, post } from "./shared/api.js";
import { count, plural } from "./shared/format.js";
import { untilStarted } from "./start/starting.js";
import "./transcript/transcript.js";
import "./composer/composer.js";
import "./brightness/legend.js";
import "./brightness/minimap.js";
import "./brightness/card.js";
import "./timeline/timeline.js";
import "./windows/windows.js";
import "./graveyard/graveyard.js";
import "./dialogs/dialogs.js";
import "./start/keyboard.js";

const byId = (id) => document.getElementById(id);

function followViews() {
  for (const view of ["read", "weave"]) byId(`view-${view}`).onclick = () => app.setView(view);
  const show = () => {
    for (const view of ["read", "weave"]) byId(`view-${view}`).setAttribute("aria-pressed", String(app.view === view));
    document.body.dataset.view = app.view;
  };
  app.addEventListener("view", show);
  show();
}

function followPanels() {
  const toggle = (button, panel, isOpen) => {
    byId(button).onclick = () => byId(button).setAttribute("aria-expanded", String(isOpen(byId(panel))));
  };
  toggle("toggle-left", "left", (panel) => panel.classList.toggle("open"));
  byId("left").addEventListener("click", ({ target }) => {
    if (target.closest(".item")) byId("left").classList.remove("open");
  });
}

function showName(name) {
  byId("window-name").textContent = name;
  document.title = `${name} · Halo Weave`;
}

function followStatus() {
  app.addEventListener("status", ({ detail }) => {
    const { engine, memory } = detail;
    const abilities = [engine.attention?.available && "attention", engine.editing?.available && "editing"].filter(Boolean);
    const words = [engine.model, `${count(engine.usable)} tokens`, ...abilities].join(" · ");
    const isReady = engine.state === "ready";
    byId("engine").dataset.state = isReady && app.isLost ? "loading" : engine.state;
    byId("engine-text").textContent = !isReady ? engine.text : app.isLost ? "connecting to this window again" : words;
    byId("memory-size").textContent = `Ctrl K · ${plural(memory.chunks - memory.deleted, "chunk")}`;
  });
  app.addEventListener("lost", () => {
    byId("engine").dataset.state = "away";
    byId("engine-text").textContent = "the server does not answer";
  });
  app.addEventListener("connected", () => app.refreshStatus());
  for (const type of ["reset", "meta"]) app.model.addEventListener(type, () => showName(app.model.info.name));
  app.addEventListener("program-windows", ({ detail }) => {
    const own = detail.find(({ id }) => id === app.model.info?.id);
    if (own) showName((app.model.info.name = own.name));
  });
}

// A window can be begun once the model is there.
async function firstWindow() {
  while (app.status?.engine.state !== "ready") await new Promise((resolve) => app.addEventListener("status", resolve, { once: true }));
  return post("/api/windows", { name: "main" });
}

async function openFirst() {
  const windows = await get("/api/windows");
  const last = localStorage.getItem("halo-window");
  const known = windows.find(({ id }) => id === last) ?? windows[0];
  app.open((known ?? (await firstWindow())).id);
}

followViews();
followPanels();
followStatus();
app.followProgram();
untilStarted(openFirst, document.querySelector("main"));
