"""A returned passage shows the words that the message looked at, underlined and explained. The look is prescribed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.memory import open_memory
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.words import ChunkSizes
from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running
from support.windows import PLAIN, WORDS_ALONE, Clock
from web.test_looks import PHONE, overflow, serious

FACT = "My cat **Miso** sleeps on the [warm router](https://example.org/Miso), Ida's dog in a *basket*."
LOOKED_AT = ("cat", "Miso", "router", "basket")


class Windows(NamedTuple):
    """The ids of two windows that the fact is in. In one it returned for a message, in the other by hand."""

    asked: str
    by_hand: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def windows(folder: Path) -> Windows:
    return with_returned_fact(folder / "halo.db")


def with_returned_fact(database: Path) -> Windows:
    with (
        closing(open_memory(database, WORDS_ALONE)) as memory,
        closing(Hub(EchoEngine(), memory, PLAIN, ChunkSizes(min_tokens=200, max_tokens=0), Clock())) as hub,
    ):
        asked, by_hand = hub.open("asked"), hub.open("by hand")
        for window, spans in ((asked, [spans_of(FACT, [word])[0] for word in LOOKED_AT]), (by_hand, [])):
            send(window, FACT)
            chunk = next(iter(window.life.context))
            assert chunk.text == FACT
            chunk.returned, chunk.looked_at = "Found by words.", tuple(spans)
            window.save()
        return Windows(asked.id, by_hand.id)


@pytest.fixture(scope="module")
def server(folder: Path, windows: Windows) -> Iterator[Process]:
    assert windows
    arguments = (*ECHO, "--set", "weave.resurrection=false", "--db", str(folder / "halo.db"), "--port", "0")
    with running(folder, *arguments) as process:
        process.wait_until_ready()
        yield process


def returned(tab: Tab) -> Locator:
    return tab.turns.filter(has=tab.page.locator(".badge.returned")).first


def test_the_words_that_the_message_looked_at_are_underlined_and_explained(
    server: Process, browser: Browser, windows: Windows
) -> None:
    with visiting(browser, server.address) as visitor:
        turn = returned(visitor.open(windows.asked))
        expect(turn.locator(".rendered u.looked-at")).to_have_text(list(LOOKED_AT))
        expect(turn.locator(".rendered")).to_have_text("My cat Miso sleeps on the warm router, Ida's dog in a basket.")
        expect(turn.get_by_role("note")).to_have_text("underlined: what the message looked at")
        expect(turn.get_by_role("note")).to_have_accessible_name(
            "The message that brought this back looked at: cat, Miso, router, basket."
        )


def test_both_views_underline_the_same_words_and_a_reload_keeps_them(
    server: Process, browser: Browser, windows: Windows
) -> None:
    with visiting(browser, server.address) as visitor:
        tab = visitor.open(windows.asked)
        tab.set_view("Weave")
        marked = returned(tab).locator(".words > span > u.looked-at")
        expect(marked.first).to_be_visible()
        assert "".join(marked.all_text_contents()) == "".join(LOOKED_AT)
        marked.first.dispatch_event("click")
        expect(tab.page.locator("halo-card")).to_contain_text("Found by words.")
        tab.page.reload()
        tab.ready()
        tab.set_view("Read")
        expect(returned(tab).locator(".rendered u.looked-at")).to_have_text(list(LOOKED_AT))


def test_without_known_words_nothing_is_underlined(server: Process, browser: Browser, windows: Windows) -> None:
    with visiting(browser, server.address) as visitor:
        tab = visitor.open(windows.by_hand)
        expect(returned(tab).locator(".rendered")).to_be_visible()
        expect(tab.page.locator("u.looked-at, .looked-at-note")).to_have_count(0)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("view", ["Read", "Weave"])
def test_underlines_are_in_nobodys_way(
    server: Process, browser: Browser, windows: Windows, theme: str, view: str
) -> None:
    with visiting(browser, server.address, color_scheme=theme, bypass_csp=True, **PHONE) as visitor:
        tab = visitor.open(windows.asked)
        tab.set_view(view)
        expect(returned(tab).get_by_role("note")).to_be_visible()
        assert overflow(tab) <= 0
        assert serious(tab.page) == []


@pytest.fixture(scope="module")
def page(server: Process, browser: Browser) -> Iterator[Page]:
    with visiting(browser, server.address) as visitor:
        yield visitor.open(new_window(server, "rendering")).page


UNDERLINED = """async ([html, text, spans]) => {
  const folder = document.querySelector('script[src$="main.js"]').src.replace("main.js", "");
  const { underline } = await import(`${folder}transcript/looked-at.js`);
  const root = document.createElement("div");
  root.innerHTML = html;
  const before = root.textContent;
  underline([root], { text, looked_at: spans, marks: {} }, text, 0);
  if (root.textContent !== before) throw new Error(`The text became ${root.textContent}`);
  return [...root.querySelectorAll("u")].map((one) => {
    const range = document.createRange();
    range.setStart(root, 0);
    range.setEndBefore(one);
    return [range.toString().trim().split(/\\s+/u).at(-1), one.textContent];
  });
}"""


@pytest.mark.parametrize(
    ("text", "looked_at", "expected"),
    [
        ("The cat sat. My cat ran.", ["My", "cat"], [["My", "cat"]]),
        ("😀😀 my cat", ["cat"], [["my", "cat"]]),
        ("> a quoted\n> cat sat", ["cat"], [["quoted", "cat"]]),
        ("- one\n  cat\n- two", ["cat"], [["one", "cat"]]),
        ("| a | b |\n| - | - |\n| c | cat |", ["cat"], [["c", "cat"]]),
        ("See [the *big* cat](https://cat.example/cat).", ["cat"], [["big", "cat"]]),
        ("See [it](https://cat.example/) or a cat", ["or a cat", "cat"], [["a", "cat"]]),
        ("2 \\* 3 for my &amp; cat", ["cat"], [["&", "cat"]]),
        ("```python\ncat = 'a cat'\n```", ["a cat", "cat"], [["'a", "cat"]]),
        ("A **caterpillar** eats", ["caterpillar"], [["A", "caterpillar"]]),
        ("A cater**pillar** eats", ["cater**pillar"], [["A", "cater"], ["cater", "pillar"]]),
        ("王芳：我在上海买了船。", ["上海"], [["王芳：我在", "上海"]]),
        ("nothing", [], []),
    ],
)
def test_a_word_is_found_again_in_rendered_markdown(
    server: Process, page: Page, text: str, looked_at: list[str], expected: list[list[str]]
) -> None:
    """`looked_at` leads to the word: each text is looked for in the one before it."""
    (html,) = server.call("POST", "/api/render", {"texts": [text]})["html"]
    assert page.evaluate(UNDERLINED, [html, text, spans_of(text, looked_at)]) == expected


def spans_of(text: str, path: list[str]) -> list[tuple[int, int]]:
    if not path:
        return []
    start = 0
    for part in path[:-1]:
        start = text.rindex(part, start)
    start = text.index(path[-1], start)
    return [(start, start + len(path[-1]))]
