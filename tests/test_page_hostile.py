"""Text that would like to be more than text: whoever it comes from, nothing runs and all of it is shown."""

import re
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from pages import Tab, new_window, visiting
from processes import ECHO, Process, running

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "onerror": '<img src=x onerror="window.hacked = 2">',
    "link": "[click](javascript:window.hacked=3) <a href='javascript:window.hacked=4'>here</a>",
    "data link": "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "picture": "![p](https://example.org/p.png) <svg onload=window.hacked=5>",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "bidi": "user\u202egnp.exe\u2066 and \u200f more",
    "nul": "before\x00after",
    "surrogates": "emoji \U0001f600 and \ufffd",
    "fence": "```html\n<script>window.hacked = 6</script>\n```\n~~~\n</code></pre><script>window.hacked=7</script>",
    "template": "${window.hacked=8} {{constructor.constructor('window.hacked=9')()}}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_from_a_person_and_from_the_model(echo_server: Process, browser: Browser, name: str) -> None:
    text = HOSTILE[name]
    window = new_window(echo_server, f"hostile {name}")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say(text)
        expect(tab.chunks.last.locator(".rendered")).to_have_count(1)
        for view in ("Weave", "Read"):
            tab.set_view(view)
            question, answer = tab.words()
            assert question == text
            assert text.strip() in answer
            assert_harmless(tab)


def test_a_line_of_a_megabyte_is_shown_and_does_not_break_the_page(tmp_path: Path, browser: Browser) -> None:
    arguments = ("--set", "engine.context_tokens=1000000", "--port", "0")
    with running(tmp_path, *ECHO, *arguments) as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            visitor.forgive("status of 4")
            tab = visitor.open()
            tab.send("x" * 1_000_000)
            expect(tab.turns.first.or_(tab.toasts.first).first).to_be_visible()
            tab.page.keyboard.press("Escape")
            assert_harmless(tab)


def test_from_an_import(browser: Browser, tmp_path: Path) -> None:
    texts = list(HOSTILE.values())
    tokens = [
        {"token_id": 1, "text": text, "position": place, "turn_id": place, "role": "user", "sentence_id": 0}
        for place, text in enumerate(texts, start=1)
    ]
    (tmp_path / "hostile.json").write_bytes(msgspec.json.encode({"tokens": tokens}))
    with running(tmp_path / "home", *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            tab.open_dialog("transfer")
            tab.page.get_by_label("File to import").set_input_files(tmp_path / "hostile.json")
            expect(tab.dialog.locator(".job")).to_have_attribute("data-state", "done")
            tab.page.keyboard.press("Escape")
            tab.page.keyboard.press("Control+k")
            tab.page.get_by_role("combobox").first.fill("window hacked script")
            expect(tab.hits.first).to_be_visible()
            tab.page.keyboard.press("Enter")
            expect(tab.chunks.first).to_be_visible()
            assert_harmless(tab)


def assert_harmless(tab: Tab) -> None:
    assert tab.page.evaluate("window.hacked ?? null") is None
    assert tab.page.locator("halo-transcript :is(script, img, iframe, svg, object, embed, form)").count() == 0
    links = tab.page.eval_on_selector_all("halo-transcript a", "links => links.map(one => one.href)")
    assert all(re.match(r"https?://|mailto:", link) for link in links), links
    handlers = "all => all.filter(one => [...one.attributes].some(({name}) => name.startsWith('on'))).length"
    assert tab.page.eval_on_selector_all("halo-transcript *", handlers) == 0
