// What has its place already, but comes with a later version.

import { element } from "./format.js";

const place = (words) =>
  class extends HTMLElement {
    connectedCallback() {
      this.replaceChildren(element("p", { textContent: words }), element("p", { className: "quiet", textContent: "This comes with a later version; there is nothing to do here yet." }));
    }
  };

customElements.define("halo-later-tree", place("The memory tree will show what was said as a tree of summaries, each with its snapshot and history, to read, edit and undo."));
customElements.define("halo-later-notes", place("Notes will be a small JSON document that you and the model both read and write: facts that should not depend on being remembered."));
