// One row per chunk in context at the edge, in the colour of its brightness; a click jumps there.

/** @import { Chunk } from "../shared/window-model.js" */
import { app } from "../shared/app.js";
import { Part } from "../shared/part.js";
import { UNSEEN } from "./heat-map.js";

const ROW = 5;
const REDRAWN_EVERY = 250;

export class Minimap extends Part {
  #canvas = document.createElement("canvas");
  /** @type {readonly Chunk[]} */
  #rows = [];
  #height = ROW;
  #isDue = false;

  start() {
    this.#isDue = false;
    this.replaceChildren(this.#canvas);
    this.follow(app.heat, "scaled", () => this.#schedule());
    this.own(new ResizeObserver(() => this.#schedule())).observe(this);
    this.listen(this, "click", (event) => {
      const row = this.#rows[Math.floor(event.offsetY / this.#height)];
      if (row) app.jumpTo(row.id);
    });
  }

  #schedule() {
    if (this.#isDue) return;
    this.#isDue = true;
    this.later(REDRAWN_EVERY, () => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #draw() {
    const { chunks } = app.heat;
    const { clientWidth: width, clientHeight: height } = this;
    const paint = this.#canvas.getContext("2d");
    if (!width || !height || !paint) return;
    const ratio = devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== size[0] || this.#canvas.height !== size[1]) [this.#canvas.width, this.#canvas.height] = size;
    this.#rows = chunks;
    this.#height = Math.min(ROW + 3, height / Math.max(1, chunks.length));
    const style = getComputedStyle(this);
    const colours = Array.from({ length: UNSEEN + 1 }, (_, level) => style.getPropertyValue(`--mark${level}`));
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, width, height);
    chunks.forEach((chunk, place) => {
      paint.fillStyle = colours[app.heat.peak(chunk)];
      paint.fillRect(2, place * this.#height, width - 4, Math.max(1, this.#height - 1.5));
    });
  }
}

customElements.define("halo-minimap", Minimap);
