// What the panels are made of: an element whose listeners end with it, and lists that keep the focus while they change.

export class Part extends HTMLElement {
  #life = null;

  connectedCallback() {
    this.#life = new AbortController();
    this.start();
  }

  disconnectedCallback() {
    this.#life.abort();
  }

  // Listen for as long as this element is on the page.
  follow(target, types, run) {
    for (const type of types.split(" ")) target.addEventListener(type, run, { signal: this.#life.signal });
  }
}

// Bring the children of `list` to `nodes`; those that stay are not touched, so that focus and selection survive.
export function arrange(list, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...list.childNodes]) if (!wanted.has(node)) node.remove();
  nodes.forEach((node, place) => {
    const there = list.childNodes[place];
    if (there !== node) list.insertBefore(node, there ?? null);
  });
}

// A function that runs once, when it was not called for a while.
export function settled(milliseconds, run) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  };
}
