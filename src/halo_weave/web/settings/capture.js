// Record the model's input and attention in this window to files.

import { app } from "../shared/app.js";
import { element } from "../shared/element.js";
import { Part } from "../shared/part.js";
import { errorText } from "../shared/request.js";

const HELP = "While capture is on, every step of the model in this window is written to files: its tokens, its attention, and the result. The files grow quickly and contain your conversation unencrypted.";

export class CaptureSwitch extends Part {
  #state = element("p");
  #button = element("button", { className: "outlined" });
  #note = element("p", { className: "setting-note", role: "status" });

  start() {
    this.replaceChildren(element("p", { className: "quiet", textContent: HELP }), this.#state, this.#button, this.#note);
    this.#button.onclick = () => this.#switch();
    this.follow(app.model, ["reset", "meta"], () => this.#draw());
    this.#draw();
  }

  #draw() {
    const { info } = app.model;
    this.#button.disabled = !info;
    this.#state.textContent = info ? `Capture is ${info.is_captured ? "on" : "off"} for ${info.name}.` : "No window is open.";
    this.#button.textContent = info?.is_captured ? "Stop capture" : "Start capture";
  }

  async #switch() {
    const isOn = !app.model.info?.is_captured;
    try {
      const { folder } = await app.api.capture(isOn);
      app.model.setCaptured(isOn);
      this.#tell(folder ? `${isOn ? "Writing to" : "Written to"} ${folder}` : "");
    } catch (error) {
      this.#tell(errorText(error), true);
    }
    this.#draw();
  }

  /** @param {string} text */
  #tell(text, isProblem = false) {
    this.#note.textContent = text;
    this.#note.classList.toggle("problem", isProblem);
  }
}

customElements.define("halo-capture", CaptureSwitch);
