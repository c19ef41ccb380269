"""The read view shows the whole conversation of its window, in context or not, however long it is."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from halo_weave.bench.long_window import WINDOW_ID, write_long_window
from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running
from support.servers.served import served
from support.waiting_engine import GatedEngine

SMALL = {"weave.budget_tokens": 260, "weave.keeps_by": "brightness"}
THINGS = ("Marmalade", "Lantern", "Umbrella", "Telescope", "Saddle", "Violin", "Compass")
TURNS = 1200
COMPOSER_CHANGES_BY = 6
"""Pixels by which the place below the conversation grows and shrinks with what it says."""
WAITS_FOR_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def sentence_about(thing: str) -> str:
    return f"{thing} is kept on the upper shelf of the pantry, behind the large green tin."


def chat_until_things_left(tab: Tab) -> None:
    for thing in THINGS:
        tab.say(sentence_about(thing))
    expect(tab.graves.first).to_be_visible()


def said_by_the_user(tab: Tab) -> list[str]:
    return [words for words in tab.words() if not words.startswith("You said")]


def top_of(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


def message(page: Page, number: int) -> Locator:
    """A message of the long conversation, whose turns are numbered from 1."""
    return page.locator(f'.chunk[data-key^="{number}.0."]')


def number_of(texts: list[str]) -> list[int]:
    return [int(found[1]) for text in texts if (found := re.match(r"Message (\d+)", text))]


@pytest.fixture(scope="module")
def long_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with a window of 1,200 turns, of which none is in context."""
    home: Path = tmp_path_factory.mktemp("long")
    path = home / "halo.db"
    last = datetime(2026, 3, 3, 12, tzinfo=UTC)

    def text(number: int) -> str:
        return f"Message {number} is about {'a zeppelin over the harbour' if number == 7 else 'the usual things'}."

    write_long_window(path, "years", TURNS, text, last)
    arguments = (*ECHO, "--db", str(path), "--set", "weave.resurrection=false")
    with running(home, *arguments, "--port", "0") as process:
        process.wait_until_ready()
        yield process


def test_every_message_stays_in_its_place_when_it_leaves_the_context(echo_server: Process, browser: Browser) -> None:
    """Also after a reload, and after another window was open."""
    window = new_window(echo_server, "whole", **SMALL)
    new_window(echo_server, "elsewhere")
    everything = [sentence_about(thing) for thing in THINGS]
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        chat_until_things_left(tab)
        assert said_by_the_user(tab) == everything
        out = tab.page.locator(".chunk.out")
        left = out.count()
        assert 0 < left < 2 * len(THINGS)
        tab.page.reload()
        tab.ready()
        expect(out).to_have_count(left)
        assert said_by_the_user(tab) == everything
        tab.page.locator(".window-name", has_text="elsewhere").click()
        expect(tab.page.locator(".welcome")).to_be_visible()
        tab.page.locator(".window-name", has_text="whole").click()
        expect(out).to_have_count(left)
        assert said_by_the_user(tab) == everything


def test_a_passage_out_of_context_says_why_and_can_be_brought_back(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "reasons", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        chat_until_things_left(tab)
        first = tab.chunks.first
        mark = first.get_by_role("button", name=re.compile("^Out of context. Left because"))
        mark.click()
        expect(first.locator(".out-why")).to_have_text(re.compile("^Out of context. Left because"))
        assert not tab.page.evaluate("document.querySelector('.chunk.out .controls button[title*=\"Never bury\"]')")
        tab.do(first, "Bring back")
        expect(first).to_have_class(re.compile(r"\bpinned\b"))
        expect(first).not_to_have_class(re.compile(r"\bout\b"))


def test_a_deleted_passage_is_gone_and_back_in_its_place_when_that_is_undone(
    echo_server: Process, browser: Browser
) -> None:
    """Also if it was out of context, so that the page has to ask for it."""
    window = new_window(echo_server, "undone", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        chat_until_things_left(tab)
        everything = tab.words()
        expect(tab.chunks.first).to_have_class(re.compile(r"\bout\b"))
        tab.do(tab.chunks.first, "Delete")
        expect(tab.turns.filter(has_text=sentence_about(THINGS[0]))).to_have_count(0)
        assert tab.words() == everything[2:]
        tab.toasts.get_by_role("button", name="Undo").click()
        expect(tab.turns).to_have_count(len(everything))
        assert tab.words() == everything


def test_the_weave_view_shows_the_context_alone(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "woven", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        chat_until_things_left(tab)
        tab.set_view("Weave")
        expect(tab.page.locator(".gap").first).to_be_visible()
        expect(tab.page.locator(".chunk.out")).to_have_count(0)
        assert sentence_about(THINGS[0]) not in tab.words()
        tab.set_view("Read")
        expect(tab.page.locator(".gap")).to_have_count(0)
        assert said_by_the_user(tab) == [sentence_about(thing) for thing in THINGS]


def test_text_from_another_window_is_a_folded_card(echo_server: Process, browser: Browser) -> None:
    kitchen = new_window(echo_server, "kitchen")
    window = new_window(echo_server, "with a card", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        visitor.open(kitchen).say("The harmonica of Leopoldine lies in the bread bin.")
        tab = visitor.open(window)
        tab.say("Good morning.")
        tab.page.keyboard.press("Control+k")
        tab.page.get_by_role("combobox").first.fill("harmonica Leopoldine")
        tab.dialog.get_by_role("button", name="Bring back and pin").click()
        card = tab.page.locator("details.card")
        expect(card.locator("summary")).to_have_text(re.compile("^from kitchen, Today"))
        words = card.locator(".rendered")
        expect(words).to_be_visible()  # it was asked for, so it is open
        tab.page.reload()
        tab.ready()
        expect(card.locator("summary")).to_be_visible()
        expect(words).to_be_hidden()
        card.locator("summary").click()
        expect(words).to_contain_text("bread bin")
        expect(words).to_be_visible()


def test_nothing_moves_when_a_reply_ends_and_passages_leave(tmp_path: Path, browser: Browser) -> None:
    """For somebody who has scrolled up to read."""
    engine = GatedEngine()
    with served(tmp_path, open_engine=lambda _: engine) as server:
        window = server.new_window("still")
        server.call("PATCH", f"/api/windows/{window}", {"overrides": SMALL})
        for thing in THINGS:
            server.say(window, sentence_about(thing))
        with visiting(browser, server.address, viewport={"width": 1300, "height": 500}) as visitor:
            tab = visitor.open(window)
            read = tab.chunks.filter(has_text="Telescope").first
            expect(read).to_be_attached()
            left = tab.page.locator(".chunk.out").count()
            engine.gate.clear()
            tab.send(f"Say this with *stars*:\n\n- one\n- two\n\n{sentence_about('Anchor') * 3}")
            expect(tab.writing).to_contain_text("You said")
            read.scroll_into_view_if_needed()
            expect(tab.page.get_by_role("button", name="Go to the newest message")).to_be_visible()
            before = top_of(read)
            engine.gate.set()
            tab.idle()
            tab.page.evaluate(WAITS_FOR_FRAMES)
            assert top_of(read) == pytest.approx(before, abs=1)
            assert tab.page.locator(".chunk.out").count() > left


NOTES_PLACES = """() => {
  globalThis.places = [];
  const note = () => {
    const message = [...document.querySelectorAll('article.turn.user')].at(-1);
    const isWritten = document.querySelector('halo-writing').hidden;
    if (message) places.push([isWritten, message.getBoundingClientRect().top]);
    requestAnimationFrame(note);
  };
  note();
}"""


def test_text_never_jumps_back_when_a_reply_ends(tmp_path: Path, browser: Browser) -> None:
    """For somebody who follows it: the last words may still push the text up, but nothing shrinks for a moment."""
    reply = "A paragraph that is long enough for two lines of the page, which is why it goes on for a while. " * 3
    engine = GatedEngine([reply] * 4)
    with served(tmp_path, open_engine=lambda _: engine) as server:
        window = server.new_window("followed")
        for _ in range(3):
            server.say(window, "Go on.")
        with visiting(browser, server.address, viewport={"width": 1300, "height": 500}) as visitor:
            tab = visitor.open(window)
            expect(tab.turns).to_have_count(6)
            engine.gate.clear()
            tab.send("And this?")
            expect(tab.writing.locator(".rendered").last).to_contain_text("A paragraph")
            tab.page.evaluate(NOTES_PLACES)
            engine.gate.set()
            tab.idle()
            tab.page.evaluate(WAITS_FOR_FRAMES)
            places = tab.page.evaluate("places")
    tops = [top for _, top in places]
    assert all(later <= earlier + COMPOSER_CHANGES_BY for earlier, later in pairwise(tops)), tops


def test_older_messages_load_as_one_scrolls_up(long_server: Process, browser: Browser) -> None:
    with visiting(browser, long_server.address) as visitor:
        tab = visitor.open(WINDOW_ID)
        expect(message(tab.page, TURNS)).to_be_in_viewport()
        assert tab.chunks.count() < 300
        scroll_up_to(tab.page, TURNS - 500)
        shown = number_of(tab.words())
        assert shown == list(range(shown[0], shown[-1] + 1))
        assert len(shown) <= 450  # what is far below was dropped
        tab.page.get_by_role("button", name="Go to the newest message").click()
        expect(message(tab.page, TURNS)).to_be_in_viewport()
        tab.page.get_by_role("button", name="Go to the first message").click()
        expect(message(tab.page, 1)).to_be_in_viewport()


def scroll_up_to(page: Page, number: int) -> None:
    """Scroll up, screen by screen, until this message is shown."""
    wanted = message(page, number)
    for _ in range(1000):
        if wanted.count():
            return
        page.evaluate("document.querySelector('.turns').scrollBy(0, -400)")
        page.evaluate(WAITS_FOR_FRAMES)
    raise AssertionError(f"Message {number} was not loaded.")


def test_text_stays_in_its_place_while_older_messages_come(long_server: Process, browser: Browser) -> None:
    with visiting(browser, long_server.address) as visitor:
        tab = visitor.open(WINDOW_ID)
        expect(message(tab.page, TURNS)).to_be_in_viewport()
        tab.page.evaluate(WAITS_FOR_FRAMES)
        held = tab.page.evaluate_handle(
            """() => {
              const list = document.querySelector('.turns');
              const first = Number(/Message (\\d+)/.exec(list.querySelector('.chunk').textContent)[1]);
              list.scrollTop = 0;
              return { first, place: list.querySelector('.chunk') };
            }"""
        )
        before = held.evaluate("({ place }) => place.getBoundingClientRect().top")
        earlier = message(tab.page, held.evaluate("held => held.first") - 1)
        expect(earlier).to_be_attached()
        tab.page.evaluate(WAITS_FOR_FRAMES)
        assert held.evaluate("({ place }) => place.getBoundingClientRect().top") == pytest.approx(before, abs=2)


def test_a_search_hit_years_back_is_shown_in_its_place(long_server: Process, browser: Browser) -> None:
    """And nothing is changed by looking at it."""
    with visiting(browser, long_server.address) as visitor:
        tab = visitor.open(WINDOW_ID)
        expect(message(tab.page, TURNS)).to_be_in_viewport()
        tab.page.keyboard.press("Control+k")
        tab.page.get_by_role("combobox").first.fill("zeppelin")
        expect(tab.hits.first).to_contain_text("zeppelin")
        tab.page.keyboard.press("Enter")
        place = tab.chunks.filter(has_text="zeppelin")
        expect(place).to_be_in_viewport()
        expect(place).to_be_focused()
        expect(place).to_have_class(re.compile(r"\bout\b"))
        assert number_of(tab.words())[:10] == list(range(1, 11))


def test_a_link_leads_to_its_message_in_its_window(long_server: Process, browser: Browser) -> None:
    with visiting(browser, long_server.address) as visitor:
        tab = visitor.open(new_window(long_server, "where the link is opened"))
        tab.page.evaluate(f"location.hash = '#{WINDOW_ID}/600.0.assistant'")
        expect(message(tab.page, 600)).to_be_in_viewport()
        tab.page.reload()
        expect(message(tab.page, 600)).to_be_in_viewport()
        href = tab.turns.filter(has=message(tab.page, 602)).locator(".permalink").get_attribute("href")
        assert href == f"#{WINDOW_ID}/602.0.assistant"


COUNTS = """() => {
  const number = text => Number((text ?? '').replaceAll(',', '').match(/\\d+/)?.[0]);
  const causes = [...document.querySelectorAll('halo-meter .cause:not(.free) b')].map(b => number(b.textContent));
  const figure = name => [...document.querySelectorAll('.figures dt')].find(dt => dt.textContent === name);
  return {
    tokens: [
      causes.reduce((sum, one) => sum + one, 0),
      number(document.querySelector('halo-meter .bar').getAttribute('aria-label')),
      number(document.querySelector('halo-window-row .item[aria-current] small').title),
      number(figure('Tokens in context').nextElementSibling.textContent),
    ],
    buried: [
      number(document.querySelector('halo-graveyard .panel-head small').textContent),
      number(figure('Buried').nextElementSibling.textContent),
    ],
  };
}"""


def test_all_counts_agree_also_while_a_reply_is_written(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "counted", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.page.evaluate(
            f"""async () => {{
              const main = document.querySelector('script[src$="main.js"]').src;
              const {{ app }} = await import(main.replace('main.js', 'shared/app.js'));
              const look = {COUNTS};
              globalThis.looks = [];
              const note = () => document.querySelector('.figures') && looks.push(look());
              const until = {{ signal: new AbortController().signal }};
              app.model.on('token', note, until);
              for (const name of ['chunks', 'meta', 'reset']) app.model.on(name, () => queueMicrotask(note), until);
            }}"""
        )
        tab.send(sentence_about(THINGS[0]))
        tab.idle()
        tab.open_dialog("figures")
        for thing in THINGS[1:]:
            echo_server.call("POST", f"/api/windows/{window}/messages", {"text": sentence_about(thing)})
            expect(tab.turns.filter(has_text=f"You said: {thing}")).to_have_count(1)
        looks = tab.page.evaluate("looks")
    assert len(looks) > 100
    for look in looks:
        assert len(set(look["tokens"])) == 1, look
        assert len(set(look["buried"])) == 1, look
    assert len({look["tokens"][0] for look in looks}) > 20
    assert looks[-1]["buried"][0] > 0
