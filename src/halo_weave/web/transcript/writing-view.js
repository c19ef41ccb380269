// The reply under way. In the read view only its last block is rendered again as it grows.

/** @import { Block } from "../shared/records.js" */
/** @import { Chunk, Writing } from "../shared/window-model.js" */
import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { moment } from "../shared/format.js";
import { names } from "../shared/names.js";
import { Part } from "../shared/part.js";
import { appendBlocks, lineStarts, settledCount } from "./blocks.js";
import { messageControls } from "./controls.js";
import { noteStreamed, rendered } from "./rendering.js";

const RENDER_EVERY = 150;

export class WritingView extends Part {
  #text = "";
  #node = document.createTextNode("");
  #time = element("time");
  #isDue = false;
  #rendered = element("div", { className: "rendered" });
  /** @type {Block[]} */
  #settled = []; // blocks that will not change any more, by their lines in the whole text
  #settledEnd = 0; // characters that they stand for
  #settledNodes = 0;

  start() {
    this.#isDue = false;
    this.replaceChildren(
      element("header", {}, element("strong", { textContent: names().assistant }), this.#time, spaceForControls()),
      element("p", { className: "words" }, this.#node, element("span", { className: "cursor", "aria-hidden": "true" })),
      this.#rendered,
    );
    this.#schedule();
  }

  /**
   * The whole of it, or nothing if there is no reply under way.
   * @param {Writing | null} writing
   */
  show(writing) {
    const text = writing ? writing.pieces.join("") : "";
    const isShown = Boolean(writing) && !this.hidden && text === this.#text;
    this.toggleAttribute("hidden", !writing);
    if (!isShown) {
      this.#text = text;
      this.#node.data = text;
      this.#time.textContent = moment(new Date().toISOString());
      this.#settled = [];
      this.#settledEnd = 0;
      this.#settledNodes = 0;
      this.#rendered.replaceChildren();
    }
    this.#schedule();
  }

  /**
   * @param {string} text
   * @param {Writing | null} writing the whole of it
   */
  add(text, writing) {
    if (this.hidden || !writing) {
      this.show(writing);
      return;
    }
    this.#text += text;
    this.#node.appendData(text);
    this.#schedule();
  }

  #schedule() {
    if (app.view !== "read" || this.hidden || !this.#text || this.#isDue || !this.isConnected) return;
    this.#isDue = true;
    this.later(RENDER_EVERY, () => this.#render());
  }

  async #render() {
    const [text, from] = [this.#text, this.#settledEnd];
    const blocks = await rendered(text.slice(from));
    this.#isDue = false;
    if (blocks && this.#text.startsWith(text) && this.#settledEnd === from && !this.hidden) this.#showBlocks(text, blocks);
    if (this.#text !== text) this.#schedule();
  }

  /**
   * @param {string} text
   * @param {Block[]} blocks of what is not settled in it
   */
  #showBlocks(text, blocks) {
    const starts = lineStarts(text.slice(this.#settledEnd));
    const before = lineStarts(text.slice(0, this.#settledEnd)).length - 1;
    const placed = blocks.map((block) => ({ ...block, line: block.line + before }));
    const count = settledCount(blocks, starts.length);
    noteStreamed(text, [...this.#settled, ...placed]);
    for (const node of [...this.#rendered.children].slice(this.#settledNodes)) node.remove();
    appendBlocks(this.#rendered, blocks.slice(0, count));
    this.#settledNodes = this.#rendered.children.length;
    appendBlocks(this.#rendered, blocks.slice(count));
    this.#settled.push(...placed.slice(0, count));
    this.#settledEnd += count ? starts[blocks[count].line] : 0;
  }
}

// The finished reply has them, and must not be higher: on a phone they take a line.
function spaceForControls() {
  const reply = /** @type {Chunk} */ ({ key: { turn: "", chunk: 0, role: "assistant" }, turn: "", role: "assistant" });
  const bar = messageControls([reply], true);
  bar.inert = true;
  return bar;
}

customElements.define("halo-writing", WritingView);
