// Markdown as sanitised HTML, made by the server; asked for in batches, and never twice for one text.

import { post } from "./api.js";

const KEPT = 2000;
const cache = new Map();
let waiting = new Map();
let isScheduled = false;

// Resolves to HTML that is safe to insert, or to null if the server does not answer.
export function rendered(text) {
  if (cache.has(text)) return Promise.resolve(cache.get(text));
  return new Promise((resolve) => {
    const resolvers = waiting.get(text) ?? [];
    waiting.set(text, [...resolvers, resolve]);
    if (!isScheduled) {
      isScheduled = true;
      setTimeout(ask, 15);
    }
  });
}

async function ask() {
  const asked = waiting;
  waiting = new Map();
  isScheduled = false;
  const texts = [...asked.keys()];
  let html;
  try {
    ({ html } = await post("/api/render", { texts }));
  } catch {
    html = [];
  }
  texts.forEach((text, place) => {
    const made = html[place] ?? null;
    if (made !== null) {
      if (cache.size >= KEPT) cache.delete(cache.keys().next().value);
      cache.set(text, made);
    }
    for (const resolve of asked.get(text)) resolve(made);
  });
}

// Where the last block of a growing Markdown text begins: what stands before it will not change any more.
export function lastBlockStart(text) {
  let start = 0;
  let fence = null;
  let place = 0;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line);
    if (mark && !fence) {
      fence = mark[1][0];
      start = place;
    } else if (mark && fence === mark[1][0]) {
      fence = null;
    } else if (!fence && !line.trim() && place + line.length < text.length) {
      start = place + line.length + 1;
    }
    place += line.length + 1;
  }
  return Math.min(start, text.length);
}
