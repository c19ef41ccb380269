"""Text on the page: Markdown, formulas and right-to-left writing, the same while a reply is written and afterwards."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect

from support.pages import Tab, Visitor, new_window, visiting
from support.servers.processes import ECHO, Process, running

PHONE, DESK = {"width": 360, "height": 800}, {"width": 1280, "height": 800}
NUMBERS = count(1)
ALONE = {"weave.resurrection": False, "generation.max_tokens": 2000}
PARAGRAPH = "The heron stands in the reeds and waits for a small silver fish that never comes.\n\n"
LIST = "".join(
    f"{number}. **Item {number}** says something about rivers, boats and ropes.\n\n" for number in range(1, 7)
)
CODE = "```python\n" + "".join(f"line_{number} = 'plum {number}'\n" for number in range(40)) + "```\n\n"
TABLE = (
    "| left | right |\n| :--- | ---: |\n" + "".join(f"| cell {number} | {number} |\n" for number in range(30)) + "\n"
)
MESSAGE = f"# Title\n\n{PARAGRAPH}{LIST}{PARAGRAPH}- tight\n- list\n\n> quoted\n\n{TABLE}{CODE}$$\nx^2\n$$\n\nThe end."


@pytest.fixture
def desk(echo_server: Process, browser: Browser) -> Iterator[Visitor]:
    with visiting(browser, echo_server.address, viewport=DESK) as visitor:
        yield visitor


def shown(visitor: Visitor, server: Process, text: str) -> Tab:
    """A window in which the text was said, with its Markdown."""
    tab = visitor.open(new_window(server, f"text {next(NUMBERS)}", **ALONE))
    tab.say(text)
    expect(tab.turn(0).locator(".rendered").first).to_be_visible()
    return tab


def test_a_formula_is_mathml_with_a_fraction_that_has_a_height(echo_server: Process, desk: Visitor) -> None:
    tab = shown(
        desk, echo_server, "Area \\(\\pi r^2\\), $\\frac{a}{b}$ and\n\n$$\n\\sum_{i=1}^n i\n$$\n\nfor $5 and $6."
    )
    turn = tab.turn(0)
    expect(turn.locator("math")).to_have_count(3)
    namespaces = turn.locator("mfrac, msup").evaluate_all("all => all.map(one => one.namespaceURI)")
    assert set(namespaces) == {"http://www.w3.org/1998/Math/MathML"}
    numerator, denominator = (turn.locator("mfrac > *").nth(place).bounding_box() for place in (0, 1))
    assert numerator is not None
    assert denominator is not None
    assert numerator["y"] + numerator["height"] <= denominator["y"] + 1
    expect(turn).to_contain_text("for $5 and $6.")


@pytest.mark.parametrize("text", ["مرحبا بالعالم، هذا نص طويل.", "שלום עולם, זה טקסט."])
def test_arabic_and_hebrew_run_from_right_to_left(echo_server: Process, desk: Visitor, text: str) -> None:
    tab = shown(
        desk, echo_server, f"# {text}\n\n{text}\n\n- {text}\n\n> {text}\n\nEnglish again.\n\n```\ncode {text}\n```"
    )
    turn = tab.turn(0)
    for place in ("h1", "p >> nth=0", "ul", "blockquote"):
        expect(turn.locator(f".rendered {place}").first).to_have_css("direction", "rtl")
    english = turn.locator(".rendered > p", has_text="English")
    expect(english).to_have_css("direction", "ltr")
    expect(turn.locator(".rendered .code-block")).to_have_css("direction", "ltr")
    box, words = turn.locator(".rendered").first.bounding_box(), text_box(turn.locator(".rendered > p").first)
    assert box is not None
    assert words["right"] >= box["x"] + box["width"] - 2  # it begins at the right edge


def text_box(place: Locator) -> dict[str, float]:
    box: dict[str, float] = place.evaluate(
        "one => { const range = document.createRange(); range.selectNodeContents(one);"
        " const { left, right } = range.getBoundingClientRect(); return { left, right }; }"
    )
    return box


def test_tasks_addresses_and_struck_text_look_as_on_github(echo_server: Process, desk: Visitor) -> None:
    tab = shown(desk, echo_server, "- [x] sailed\n- [ ] painted\n\nSee https://example.org/a and ~~not~~ main.py")
    turn = tab.turn(0)
    expect(turn.get_by_role("img", name="Done", exact=True)).to_be_visible()
    expect(turn.get_by_role("img", name="Not done")).to_be_visible()
    expect(turn.locator("li").first).to_have_css("list-style-type", "none")
    expect(turn.locator(".rendered a")).to_have_count(1)
    expect(turn.get_by_role("link", name="https://example.org/a")).to_be_visible()
    expect(turn.locator("s")).to_have_css("text-decoration-line", "line-through")


def test_code_names_its_language(echo_server: Process, desk: Visitor) -> None:
    tab = shown(desk, echo_server, "```python\nx = 1\n```")
    expect(tab.turn(0).locator(".code-block .language")).to_have_text("python")


def test_an_embedded_picture_is_a_short_text(echo_server: Process, desk: Visitor) -> None:
    tab = shown(desk, echo_server, f"Look: ![a cat](data:image/png;base64,{'A' * 3000}) there")
    expect(tab.turn(0).locator(".rendered")).to_have_text("Look: [Picture: a cat, not shown] there")
    expect(tab.turn(0).locator("img")).to_have_count(0)


# What stands on the page in each block, without regard to passages: the kind of the element and its place.
PLACES = """turn => {
  const top = turn.getBoundingClientRect().top;
  const places = [...turn.querySelectorAll(".rendered :is(p, li, h1, td, pre, blockquote, math)")].map((one) => {
    const { left, top: y, height } = one.getBoundingClientRect();
    return [one.localName, Math.round(left), Math.round(y - top), Math.round(height)];
  });
  return { places, height: Math.round(turn.getBoundingClientRect().height) };
}"""


def test_passages_that_cut_a_list_a_table_or_code_show_it_whole(tmp_path: Path, browser: Browser) -> None:
    """The same message in one passage and in many looks the same."""
    seen = []
    for name, least, most in (("whole", 4000, 0), ("cut", 16, 64)):
        sizes = ("--set", f"memory.chunk_min_tokens={least}", "--set", f"memory.chunk_max_tokens={most}")
        with running(tmp_path / name, *ECHO, *sizes, "--port", "0") as server:
            server.wait_until_ready()
            with visiting(browser, server.address, viewport=DESK) as visitor:
                turn = shown(visitor, server, MESSAGE).turn(0)
                expect(turn.locator(".rendered").last).to_contain_text("The end.")
                expect(turn.locator("tr")).to_have_count(31)
                expect(turn.locator("table, .code-block")).to_have_count(2)
                expect(turn.locator(".code-block code")).to_contain_text("line_39 = 'plum 39'")
                items = turn.locator("ol").evaluate_all("all => all.map(one => [one.start, one.children.length])")
                assert [start + place for start, count in items for place in range(count)] == [1, 2, 3, 4, 5, 6]
                seen.append((turn.evaluate(PLACES), len(items), turn.locator(".chunk").count()))
    (whole, lists, passages), (cut, cut_lists, cut_passages) = seen
    assert cut == whole
    assert (lists, passages) == (1, 1)
    assert cut_passages > 10
    assert cut_lists > 1  # an item stands at its own passage


class HeldReply:
    """Passes everything to the page but the end of the reply."""

    def __init__(self, page: Page) -> None:
        self._kept: list[str | bytes] = []
        self._send: Callable[[str | bytes], None] | None = None
        page.route_web_socket(re.compile("/api/windows/"), self._route)

    def _route(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        self._send = socket.send
        server.on_message(self._hear)

    def _hear(self, message: str | bytes) -> None:
        assert self._send is not None
        news: dict[str, Any] = json.loads(message)
        events = news.get("events") or []
        place = next((place for place, event in enumerate(events) if event["kind"] == "reply"), None)
        if self._kept or place is not None:
            early = [] if self._kept else events[:place]
            late = events if self._kept else events[place:]
            if early:
                self._send(json.dumps({**news, "events": early}))
            self._kept.append(json.dumps({**news, "events": late}))
        else:
            self._send(message)

    @property
    def has_ended(self) -> bool:
        return bool(self._kept)

    def release(self) -> None:
        assert self._send is not None
        kept, self._kept = self._kept, []
        for message in kept:
            self._send(message)


# The heights of all that was shown in each frame until the reply had its final place.
WATCH = """() => {
  globalThis.heights = [];
  const list = document.querySelector(".turns");
  const watch = () => {
    heights.push(Math.round(list.scrollHeight));
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
}"""


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_moves_when_a_reply_ends(echo_server: Process, browser: Browser, viewport: dict[str, int]) -> None:
    """A reply has the same height and its blocks the same places in the last frame of writing and ever after."""
    with visiting(browser, echo_server.address, viewport=viewport) as visitor:
        window = new_window(echo_server, f"end {next(NUMBERS)}", **ALONE)
        tab = visitor.open()
        held = HeldReply(tab.page)
        tab.page.evaluate(f"localStorage.setItem('halo-window', '{window}')")
        tab.page.reload()
        tab.ready()
        tab.send(MESSAGE)
        expect(tab.writing.locator(".rendered")).to_contain_text("The end.")
        expect(tab.turn(0).locator(".rendered").first).to_be_visible()
        tab.page.wait_for_function("() => document.querySelector('halo-writing .rendered math')")
        assert held.has_ended
        before = tab.writing.evaluate(PLACES)
        tab.page.evaluate(WATCH)
        tab.page.wait_for_function("() => heights.length > 2")
        held.release()
        tab.idle()
        expect(tab.turn(1).locator(".rendered math")).to_have_count(1)
        count = tab.page.evaluate("heights.length")
        tab.page.wait_for_function(f"() => heights.length > {count + 10}")
        assert tab.turn(1).evaluate(PLACES) == before
        assert len(set(tab.page.evaluate("heights"))) == 1
