// One row per chunk at the edge: living ones by their brightness, gaps grey; a click jumps there.

import { app } from "../shared/app.js";
import { UNSEEN } from "./heat.js";

const ROW = 5;

class Minimap extends HTMLElement {
  #canvas = document.createElement("canvas");
  #rows = [];
  #isDue = false;

  connectedCallback() {
    this.append(this.#canvas);
    document.getElementById("transcript").heat.addEventListener("scaled", () => this.#schedule());
    new ResizeObserver(() => this.#schedule()).observe(this);
    this.onclick = (event) => {
      const row = this.#rows[Math.floor(event.offsetY / this.#height)];
      if (row) app.jumpTo(row.id);
    };
  }

  #height = ROW;

  #schedule() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#draw();
    }, 250);
  }

  #draw() {
    const { heat, chunks } = document.getElementById("transcript");
    const { clientWidth: width, clientHeight: height } = this;
    if (!width || !height) return;
    const ratio = devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#canvas.width !== size[0] || this.#canvas.height !== size[1]) [this.#canvas.width, this.#canvas.height] = size;
    this.#rows = chunks;
    this.#height = Math.min(ROW + 3, height / Math.max(1, chunks.length));
    const style = getComputedStyle(this);
    const colours = Array.from({ length: UNSEEN + 1 }, (_, level) => style.getPropertyValue(`--mark${level}`));
    const paint = this.#canvas.getContext("2d");
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, width, height);
    chunks.forEach((chunk, place) => {
      paint.fillStyle = colours[heat.peak(chunk)];
      paint.fillRect(2, place * this.#height, width - 4, Math.max(1, this.#height - 1.5));
    });
  }
}

customElements.define("halo-minimap", Minimap);
