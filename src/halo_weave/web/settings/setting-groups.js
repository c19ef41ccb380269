// How the settings are arranged for people: what they want to change, which settings matter most, and what else they may
// call them.

/** @type {Record<string, string>} */
export const TITLES = {
  most: "Most used",
  appearance: "Page and names",
  chat: "System prompt",
  generation: "Generation",
  tools: "Tools",
  weave: "Budget and resurrection",
  memory: "Memory and chunks",
  search: "Search",
  reflection: "Reflection",
  engine: "Model",
  embedder: "Embedding",
  reader: "Reader",
  brightness: "Brightness",
  preview: "Preview",
  capture: "Capture",
};

/**
 * Groups of sections, by what a person wants. Sections that are in none of them come last.
 * @type {[title: string, sections: string[]][]}
 */
export const GROUPS = [
  ["Begin here", ["most", "appearance"]],
  ["How it answers", ["chat", "generation", "tools"]],
  ["What it remembers", ["weave", "memory", "search", "reflection"]],
  ["What it runs on", ["engine", "embedder", "reader"]],
  ["How it works inside", ["brightness", "preview", "capture"]],
];

/** The ten settings that matter most, in their order. */
export const MOST_USED = [
  "chat.system_prompt",
  "generation.max_tokens",
  "generation.temperature",
  "generation.repeat_penalty",
  "weave.resurrection",
  "weave.budget_tokens",
  "reflection.is_on",
  "tools.is_on",
  "engine.model",
  "engine.context_tokens",
];

/** Shown in their sections with the most used ones; all others are under "Advanced". */
const PLAIN = new Set([
  ...MOST_USED,
  "generation.phrase_penalty",
  "generation.seed",
  "reflection.after_minutes",
  "engine.kind",
  "engine.url",
  "engine.api_key",
  "embedder.kind",
  "embedder.model",
  "embedder.url",
  "embedder.api_key",
  "reader.kind",
  "reader.model",
  "memory.path",
  "preview.is_on",
]);

/** @param {string} name */
export const isAdvanced = (name) => !PLAIN.has(name);

/**
 * Other words for settings, and for sections that are elements of their own.
 * @type {Record<string, string>}
 */
const WORDS = {
  appearance: "dark light night theme colour color font size text look design name user assistant keyboard shortcut letters",
  capture: "record study export attention",
  chat: "instructions persona character role behaviour personality prompt",
  generation: "reply replies answer answers sampling writing style",
  "generation.max_tokens": "length long longer short shorter size limit cut off words",
  "generation.temperature": "creative creativity random randomness boring precise variety deterministic",
  "generation.top_p": "creative random nucleus sampling",
  "generation.top_k": "creative random sampling",
  "generation.min_p": "creative random sampling",
  "generation.repeat_penalty": "repetition repetitive repeating loop loops looping same again",
  "generation.phrase_penalty": "repetition repetitive repeating loop loops looping same sentence again dry",
  "generation.seed": "reproducible same deterministic random",
  "generation.stop": "end ending stop sequence",
  weave: "context window forget forgetting remember memory recall",
  "weave.budget_tokens": "length size context limit prune pruning full slow speed",
  "weave.resurrection": "recall remember past return bring back rag retrieval",
  "weave.show_times": "date dates time when clock",
  tools: "functions calls agent",
  engine: "llm gguf ollama llama server kobold openai vllm model",
  "engine.context_tokens": "length size window memory ram limit",
  "engine.gpu_layers": "gpu cuda metal speed fast slow graphics card vram",
  "engine.threads": "cpu cores speed fast slow processor",
  "engine.kept_rows_mb": "ram cache memory speed",
  embedder: "meaning vectors semantic similarity language",
  reader: "attention meaning search",
  memory: "file folder where database storage data location split paragraphs",
  "memory.chunk_min_tokens": "length size split paragraph",
  "memory.chunk_max_tokens": "length size split paragraph",
  search: "find hits results ranking",
  reflection: "summary summarise summarize digest idle pause",
  brightness: "attention heat colours score",
  preview: "look ahead",
};

/**
 * Whether a setting, or a section with `name` only, is meant by all of the words typed. A word matches if another begins
 * with it, or is the beginning of it that is left without its ending ("repeated" finds "repeat").
 * @param {string[]} typed
 * @param {string} name
 * @param {string} [help]
 */
export function isMeant(typed, name, help = "") {
  const section = name.split(".")[0];
  const all = [name.replaceAll(/[._]/gu, " "), help, TITLES[section] ?? "", WORDS[section] ?? "", WORDS[name] ?? ""].join(" ");
  const words = all.toLowerCase().split(/[^\p{Letter}\p{Number}]+/u).filter(Boolean);
  return typed.every((one) => words.some((word) => word.startsWith(one) || (word.length > LEAST_STEM && one.startsWith(word))));
}

const LEAST_STEM = 3;

/** @param {string} text */
export const typedWords = (text) => text.toLowerCase().split(/[^\p{Letter}\p{Number}]+/u).filter(Boolean);
