"""The elements of the page: all are Parts, and everything they start ends with them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from support.folders import PROJECT
from support.pages import Tab, new_window, visiting
from support.servers.processes import Process

WEB = PROJECT / "src" / "halo_weave" / "web"

# Counts active listeners (except those on nodes, which end with their nodes), timers, frames and observers. Runs before
# the page's own scripts.
_COUNTING = """
  const live = (globalThis.live = { listeners: 0, timers: new Set(), frames: new Set(), observers: new Set() });
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, run, options) {
    add.call(this, type, run, options);
    const signal = options?.signal;
    const isOwn = this instanceof Node && this !== document && this !== document.body && !this.isConnected;
    if (this instanceof AbortSignal || isOwn || signal?.aborted) return;
    live.listeners += 1;
    if (signal) add.call(signal, "abort", () => (live.listeners -= 1), { once: true });
  };
  const wrap = (start, end, kept, isOnce) => {
    const [original, originalEnd] = [globalThis[start], globalThis[end]];
    globalThis[start] = (run, ...rest) => {
      const id = original((...given) => {
        if (isOnce) kept.delete(id);
        run(...given);
      }, ...rest);
      kept.add(id);
      return id;
    };
    globalThis[end] = (id) => {
      kept.delete(id);
      originalEnd(id);
    };
  };
  wrap("setTimeout", "clearTimeout", live.timers, true);
  wrap("setInterval", "clearInterval", live.timers, false);
  wrap("requestAnimationFrame", "cancelAnimationFrame", live.frames, true);
  for (const name of ["ResizeObserver", "IntersectionObserver", "MutationObserver"]) {
    globalThis[name] = class extends globalThis[name] {
      observe(...given) {
        live.observers.add(this);
        super.observe(...given);
      }
      disconnect() {
        live.observers.delete(this);
        super.disconnect();
      }
    };
  }
  globalThis.defined = new Map();
  const define = customElements.define.bind(customElements);
  customElements.define = (name, kind) => {
    defined.set(name, kind);
    define(name, kind);
  };
"""

# Repeatedly mounts an element, lets it work for a moment, and removes it. Returns the counts once they are no higher
# than before, or once the server has had time to answer.
_MOUNTED = """
  async ([tag, times, before]) => {
    const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
    const underWay = () => ({ listeners: live.listeners, timers: live.timers.size, observers: live.observers.size });
    const isOver = () => Object.entries(underWay()).every(([name, count]) => count <= before[name]);
    const place = document.createElement("div");
    document.body.append(place);
    for (let time = 0; time < times; time += 1) {
      const Kind = defined.get(tag);
      place.replaceChildren(new Kind());
      await settle();
      place.replaceChildren();
    }
    place.remove();
    const until = Date.now() + 3000;
    while (Date.now() < until && !isOver()) await settle();
    return underWay();
  }
"""

# These need the content that the page's HTML puts inside them.
_WITH_CONTENT = {"halo-header", "halo-menu"}


def _defined() -> list[str]:
    names = []
    for file in sorted(WEB.rglob("*.js")):
        for line in file.read_text().splitlines():
            if line.startswith("customElements.define("):
                names.append(line.split('"')[1])
    return names


@pytest.fixture(scope="module")
def tab(echo_server: Process, browser: Browser) -> Iterator[Tab]:
    window = new_window(echo_server, "parts")
    with visiting(browser, echo_server.address) as visitor:
        visitor.context.add_init_script(_COUNTING)
        tab = visitor.open(window)
        tab.say("Something to look at.")
        tab.page.wait_for_timeout(1500)
        yield tab


def test_every_element_of_the_page_derives_from_part(tab: Tab) -> None:
    strangers = tab.page.evaluate(
        """
        async () => {
          const folder = document.querySelector('script[src$="main.js"]').src.replace("main.js", "");
          const { Part } = await import(`${folder}shared/part.js`);
          const names = [...document.querySelectorAll("*")].map((one) => one.localName);
          const used = names.filter((name) => name.includes("-"));
          const kinds = [...defined].filter(([, kind]) => !(kind.prototype instanceof Part)).map(([name]) => name);
          return [...kinds, ...used.filter((name) => !defined.has(name))];
        }
        """
    )
    assert strangers == []
    assert sorted(tab.page.evaluate("[...defined.keys()]")) == sorted(_defined())


@pytest.mark.parametrize("tag", [name for name in _defined() if name not in _WITH_CONTENT])
def test_what_an_element_started_ends_with_it(tab: Tab, tag: str) -> None:
    before = _under_way(tab.page)
    after = tab.page.evaluate(_MOUNTED, [tag, 10, before])
    assert {name: after[name] for name in after if after[name] > before[name]} == {}


def test_an_element_that_keeps_on_listening_would_be_found(tab: Tab) -> None:
    before = _under_way(tab.page)
    tab.page.evaluate(
        """
        class Leaking extends HTMLElement {
          connectedCallback() {
            addEventListener("resize", () => {});
            setInterval(() => {}, 1000);
          }
        }
        defined.set("halo-leaking", Leaking);
        customElements.define("halo-leaking", Leaking);
        """
    )
    after = tab.page.evaluate(_MOUNTED, ["halo-leaking", 10, before])
    tab.page.evaluate("defined.delete('halo-leaking')")
    assert after["listeners"] >= before["listeners"] + 10
    assert after["timers"] >= before["timers"] + 10


def _under_way(page: Page) -> dict[str, int]:
    """Return the counts once the page is idle, because it runs timers of its own for a moment after each change."""
    counts = "({ listeners: live.listeners, timers: live.timers.size, observers: live.observers.size })"
    found: list[dict[str, int]] = []
    while len(found) < 4 or any(one != found[-1] for one in found[-4:]):
        page.wait_for_timeout(60)
        found.append(page.evaluate(counts))
    return found[-1]
