"""Sending, streaming, stopping and reloading on the page, with the bundled model."""

import re

from playwright.sync_api import Browser, expect

from support.pages import new_window, visiting
from support.servers.processes import Process

ALONE = {"weave.resurrection": False}  # the tests share one memory
SHORT = {"generation.max_tokens": 24, **ALONE}
LONG = {"generation.max_tokens": 400, **ALONE}
QUESTION = "Tell me a long story about a lighthouse."


def test_a_message_is_answered_as_the_words_come(model_server: Process, browser: Browser) -> None:
    window = new_window(model_server, "stream", **SHORT)
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        expect(tab.page.get_by_role("heading", name="One conversation that never ends")).to_be_visible()
        tab.page.evaluate(
            """() => {
              window.seen = new Set();
              const words = document.querySelector("halo-writing .words");
              const watching = new MutationObserver(() => seen.add(words.textContent));
              watching.observe(words, { childList: true, characterData: true, subtree: true });
            }"""
        )
        tab.send(QUESTION)
        expect(tab.turns).to_have_count(2)
        tab.idle()
        assert tab.box.input_value() == ""
        question, answer = tab.words()
        assert question == QUESTION
        assert answer == said(model_server, window)[1]
        steps = sorted(filter(None, tab.page.evaluate("[...seen]")), key=len)
        assert len(steps) > 3
        assert all(answer.startswith(step) for step in steps)
        expect(tab.turn(1).locator(".badge", has_text="length")).to_be_visible()


def test_stop_keeps_what_has_come_and_marks_it(model_server: Process, browser: Browser) -> None:
    window = new_window(model_server, "stop", **LONG)
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        for has_key in (True, False):
            before = tab.turns.count()
            tab.send(QUESTION)
            expect(tab.writing.locator(".words")).to_have_text(re.compile(r"\S"))
            if has_key:
                tab.page.keyboard.press("Escape")
            else:
                tab.page.get_by_role("button", name="Stop", exact=True).click()
            tab.idle()
            expect(tab.turns).to_have_count(before + 2)
            expect(tab.turns.last.locator(".badge", has_text="stopped")).to_be_visible()
        answers = said(model_server, window)[1::2]
        assert tab.words()[1::2] == answers
        assert all(answers)


def test_a_reload_in_mid_reply_loses_and_doubles_nothing(model_server: Process, browser: Browser) -> None:
    window = new_window(model_server, "reload", **{"generation.max_tokens": 120, **ALONE})
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        tab.send(QUESTION)
        expect(tab.writing.locator(".words")).to_have_text(re.compile(r"\S"))
        tab.page.reload()
        expect(tab.writing.locator(".words")).to_have_text(re.compile(r"\S"))
        expect(tab.turns).to_have_count(2)
        tab.idle()
        assert tab.box.input_value() == ""
        assert tab.words() == said(model_server, window)


def test_regenerate_and_continue_are_answers_of_the_same_turn(model_server: Process, browser: Browser) -> None:
    window = new_window(model_server, "again", **SHORT)
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        tab.say(QUESTION)
        first = tab.words()[1]
        tab.do(tab.turn(1), "Continue")
        expect(tab.turn(1).locator(".words").last).not_to_have_text(first)
        tab.idle()
        assert tab.words()[1].startswith(first)
        tab.do(tab.turn(1), "Regenerate")
        expect(tab.page.locator(".grave .tag", has_text="superseded").first).to_be_visible()
        tab.idle()
        assert tab.words() == said(model_server, window)


def said(process: Process, window: str) -> list[str]:
    """Return the text turn by turn, as the server has it."""
    turns: dict[tuple[str, str], str] = {}
    for chunk in process.call("GET", f"/api/windows/{window}")["chunks"]:
        key = (chunk["key"]["turn"], chunk["key"]["role"])
        turns[key] = turns.get(key, "") + "".join(chunk["pieces"])
    return list(turns.values())
