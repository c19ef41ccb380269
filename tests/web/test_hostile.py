"""Hostile text from any source: none of it runs, and all of it is shown."""

import re
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "onerror": '<img src=x onerror="window.hacked = 2">',
    "link": "[click](javascript:window.hacked=3) <a href='javascript:window.hacked=4'>here</a>",
    "data link": "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "picture": "![p](https://example.org/p.png) <svg onload=window.hacked=5>",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "bidi": "user\u202egnp.exe\u2066 and \u200f more",
    "nul": "before\x00after",
    "emoji": "emoji \U0001f600 and \ufffd",
    "fence": "```html\n<script>window.hacked = 6</script>\n```\n~~~\n</code></pre><script>window.hacked=7</script>",
    "template": "${window.hacked=8} {{constructor.constructor('window.hacked=9')()}}",
}
LONG_LINE = "x" * 1_000_000
WORDS = [
    "alpaca",
    "bison",
    "condor",
    "dormouse",
    "egret",
    "ferret",
    "gazelle",
    "heron",
    "ibex",
    "jackal",
    "koala",
    "lemur",
    "marmot",
]


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


def test_half_a_character_is_sent_as_the_sign_for_an_unknown_one(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "half a character")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.box.evaluate("box => { box.value = 'half \\ud83d a face'; box.dispatchEvent(new Event('input')); }")
        tab.box.press("Enter")
        expect(tab.turns).to_have_count(2)
        tab.idle()
        assert tab.words()[0] == "half \ufffd a face"


def test_half_a_character_in_a_request_is_refused(echo_server: Process) -> None:
    window = new_window(echo_server, "half a request")
    answer = echo_server.http.post(f"/api/windows/{window}/messages", content=rb'{"text": "half \ud83d a face"}')
    assert answer.status_code == 400
    assert "surrogate" in answer.json()["error"]
    assert echo_server.call("GET", f"/api/windows/{window}")["chunks"] == []


def test_a_line_of_a_megabyte_does_not_fit_and_stays_in_the_box(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "a long line")
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 400")
        tab = visitor.open(window)
        tab.send(LONG_LINE)
        expect(tab.toasts).to_contain_text("The message does not fit")
        expect(tab.box).to_have_value(LONG_LINE)
        assert tab.words() == []
        tab.say("A short one")


def test_from_an_import(browser: Browser, tmp_path: Path) -> None:
    """All of it is found and shown as text, an unpaired surrogate as the replacement character."""
    texts = [*HOSTILE.values(), LONG_LINE, "half \\ud83d a face"]
    tokens = [
        {"token_id": 1, "text": f"{word} {text}", "position": place, "turn_id": place, "role": "user", "sentence_id": 0}
        for place, (word, text) in enumerate(zip(WORDS, texts, strict=True), start=1)
    ]
    document = msgspec.json.encode({"tokens": tokens}).replace(rb"\\ud83d", rb"\ud83d")
    (tmp_path / "hostile.json").write_bytes(document)
    with running(tmp_path / "home", *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            tab.open_dialog("transfer")
            tab.page.get_by_label("File to import").set_input_files(tmp_path / "hostile.json")
            expect(tab.dialog.locator(".job")).to_have_attribute("data-state", "done")
            tab.page.keyboard.press("Escape")
            tab.page.keyboard.press("Control+k")
            for word, text in zip(WORDS, texts, strict=True):
                tab.page.get_by_role("combobox").first.fill(word)
                expect(tab.hits.first).to_contain_text(word)
                whole = tab.page.locator("halo-hit-pane .hit-whole")
                expect(whole).to_contain_text(word)
                assert whole.text_content() == f"{word} {text}".replace("\\ud83d", "\ufffd")
                assert_harmless(tab, "dialog")
            tab.page.get_by_role("combobox").first.fill(WORDS[0])
            expect(tab.hits.first).to_contain_text(WORDS[0])
            tab.dialog.get_by_role("button", name="Bring back and pin").click()
            expect(tab.chunks.first).to_be_visible()
            assert_harmless(tab)


def assert_harmless(tab: Tab, place: str = "halo-transcript") -> None:
    assert tab.page.evaluate("window.hacked ?? null") is None
    assert tab.page.locator(f"{place} :is(script, img, iframe, svg, object, embed, form)").count() == 0
    links = tab.page.eval_on_selector_all(f"{place} a", "links => links.map(one => one.href)")
    assert all(re.match(r"https?://|mailto:", link) for link in links), links
    handlers = "all => all.filter(one => [...one.attributes].some(({name}) => name.startsWith('on'))).length"
    assert tab.page.eval_on_selector_all(f"{place} *", handlers) == 0
