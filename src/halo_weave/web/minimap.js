// One row per chunk at the edge: living ones by their brightness, gaps grey; a click jumps there.

import { app } from "./app.js";

const ROW = 5;

class Minimap extends HTMLElement {
  #canvas = document.createElement("canvas");
  #rows = [];
  #isDue = false;

  connectedCallback() {
    this.append(this.#canvas);
    const transcript = document.getElementById("transcript");
    transcript.addEventListener("scaled", () => this.#schedule());
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
    }, 120);
  }

  #draw() {
    const transcript = document.getElementById("transcript");
    const { clientWidth: width, clientHeight: height } = this;
    if (!width || !height) return;
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    this.#rows = transcript.chunks;
    this.#height = Math.min(ROW + 3, height / Math.max(1, this.#rows.length));
    const paint = this.#canvas.getContext("2d");
    paint.scale(ratio, ratio);
    const style = getComputedStyle(this);
    const isLight = document.documentElement.dataset.theme === "light";
    this.#rows.forEach((chunk, place) => {
      const values = transcript.values(chunk);
      let peak = -Infinity;
      for (const value of values) if (value > peak) peak = value;
      paint.fillStyle = style.getPropertyValue(`--${isLight ? "tint" : "b"}${transcript.scale.bucket(peak)}`);
      paint.fillRect(2, place * this.#height, width - 4, Math.max(1, this.#height - 1.5));
    });
  }
}

customElements.define("halo-minimap", Minimap);
