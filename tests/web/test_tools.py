"""Tools on the page: their text has its own colour in both views, and every call is listed."""

import re

from playwright.sync_api import Browser, expect

from support.pages import new_window, visiting
from support.servers.processes import Process

CALL = """<tool>jq '.topics.cat = "Mia"' notes.json > output</tool>"""
RESULT = """⚙️【jq '.topics.cat = "Mia"' notes.json > output】→ ✓ .topics.cat = "Mia"\n"""
QUIET = {"generation.max_tokens": 24, "generation.repeat_penalty": 1, "weave.resurrection": False}
"""Without a penalty for the end of a call repeating its beginning."""


def test_a_call_of_the_bundled_model_is_carried_out_and_shown(model_server: Process, browser: Browser) -> None:
    """The test writes the beginning of the call for the model, which is too small to start one itself."""
    window = new_window(model_server, "tools", **QUIET)
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("My cat is called Mia. Please note it.")
        tab.do(tab.turn(1), "Edit")
        tab.say(f"I note it. {CALL.removesuffix('tool>')}")
        tab.do(tab.turn(1), "Continue")
        result = tab.page.locator(".chunk.tool")
        expect(result).to_have_count(1)
        tab.idle()
        assert result.locator(".words").text_content() == RESULT
        assert tab.words()[1].startswith(f"I note it. {CALL}{RESULT}")

        colours = []
        for view in ("Read", "Weave"):
            tab.set_view(view)
            expect(result.locator(".words")).to_be_visible()
            colours.append(
                result.evaluate(
                    "one => getComputedStyle(one.querySelector('.words > *') ?? one.querySelector('.words')).color"
                )
            )
        plain = tab.turn(0).locator(".words").evaluate("one => getComputedStyle(one).color")
        assert colours[0] == colours[1] != plain

        tab.open_dialog("tools")
        entry = tab.dialog.locator(".tool-log li")
        expect(entry).to_have_count(1)
        expect(entry).to_contain_text("patch_notes")
        expect(entry).to_contain_text('.topics.cat = "Mia"')
        expect(entry.locator("small")).to_contain_text("s")
        tab.page.keyboard.press("Escape")

        tab.page.reload()
        tab.ready()
        expect(tab.page.locator(".chunk.tool")).to_have_count(1)
        tab.open_dialog("tools")
        expect(tab.dialog.locator(".tool-log li")).to_have_count(1)
        tab.page.keyboard.press("Escape")
        tab.open_dialog("notes")
        expect(tab.dialog.get_by_label("Notes, as text or JSON")).to_have_value(re.compile("Mia"))
