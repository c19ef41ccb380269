// Write down what the model sees and looks at in this window.

import { app } from "../shared/app.js";
import { element } from "../shared/format.js";
import { Part } from "../shared/part.js";

class CaptureSwitch extends Part {
  #words = element("p");
  #button = element("button", { className: "outlined" });
  #note = element("p", { className: "setting-note", role: "status" });

  start() {
    const help = "While it runs, every step of the model in this window is written to files: its tokens, its attention, and what became of them. They grow quickly, and they hold your conversation in the clear.";
    this.replaceChildren(element("p", { className: "quiet", textContent: help }), this.#words, this.#button, this.#note);
    this.#button.onclick = () => this.#switch();
    this.follow(app.model, "reset meta", () => this.#draw());
    this.#draw();
  }

  #draw() {
    const { info } = app.model;
    this.#button.disabled = !info;
    this.#words.textContent = !info ? "No window is open." : info.is_captured ? `${info.name} is being captured.` : `${info.name} is not being captured.`;
    this.#button.textContent = info?.is_captured ? "Stop capture" : "Start capture";
  }

  async #switch() {
    const isOn = !app.model.info.is_captured;
    try {
      const { folder } = await app.api.capture(isOn);
      app.model.info.is_captured = isOn;
      this.#tell(folder ? `${isOn ? "Writing to" : "Written to"} ${folder}` : "");
    } catch (error) {
      this.#tell(error.message, true);
    }
    this.#draw();
  }

  #tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
  }
}

customElements.define("halo-capture", CaptureSwitch);
