"""The notes on the page: edited, validated, saved, undone and exported; their content is only ever text."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, visiting
from support.servers.processes import Process
from web.test_hostile import HOSTILE

IS_REFUSED = "status of 409"


def begin(process: Process, **document: Any) -> None:
    """Set the notes to this document; all tests share one."""
    version = process.call("GET", "/api/notes")["version"]
    process.call("PUT", "/api/notes", {"document": json.dumps(document), "version": version})


def saved(process: Process) -> Any:
    return json.loads(process.call("GET", "/api/notes")["document"])


def open_notes(tab: Tab) -> Locator:
    """Open the notes with their keyboard shortcut; return the editor once it is editable."""
    tab.page.locator("h1").click()
    tab.page.keyboard.press("n")
    editor = tab.page.get_by_label("Notes, as text or JSON")
    expect(editor).to_be_enabled()
    return editor


def button(tab: Tab, name: str) -> Locator:
    return tab.dialog.get_by_role("button", name=name, exact=True)


def test_notes_are_checked_while_typing_saved_undone_and_restored(echo_server: Process, browser: Browser) -> None:
    begin(echo_server, cat="Mia")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open()
        editor = open_notes(tab)
        expect(editor).to_have_value('{\n  "cat": "Mia"\n}')
        expect(button(tab, "Save")).to_be_disabled()
        for wrong, why in (('{"cat": ', "This is not valid JSON yet"), ("[1]", "one JSON object")):
            editor.fill(wrong)
            expect(tab.dialog.locator(".notes-note")).to_contain_text(why)
            expect(button(tab, "Save")).to_be_disabled()
        editor.fill('{"cat": "Leo", "n": 3.14159265358979323846264338}')
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text('.cat = "Leo"')
        assert "3.14159265358979323846264338" in echo_server.call("GET", "/api/notes")["document"]
        button(tab, "Undo").click()
        expect(editor).to_have_value('{\n  "cat": "Mia"\n}')
        tab.dialog.get_by_text("History").click()
        versions = tab.dialog.locator(".notes-history li")
        expect(versions.nth(1).locator("code")).to_have_text("replace")
        versions.nth(1).get_by_role("button", name=re.compile("^Show")).click()
        expect(versions.nth(1).locator("pre")).to_contain_text("Leo")
        versions.nth(1).get_by_role("button", name=re.compile("^Restore")).click()
        expect(editor).to_have_value(re.compile("Leo"))
        assert saved(echo_server)["cat"] == "Leo"


def test_what_was_typed_survives_closing_the_dialog_and_control_s_saves_it(
    echo_server: Process, browser: Browser
) -> None:
    begin(echo_server)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open()
        open_notes(tab).fill('{"draft": 1}')
        button(tab, "Close").click()
        expect(tab.dialog).to_have_count(0)
        editor = open_notes(tab)
        expect(editor).to_have_value('{"draft": 1}')
        assert saved(echo_server) == {}
        editor.press("Control+s")
        expect(tab.dialog.locator(".notes-note")).to_contain_text("Saved as version")
        assert saved(echo_server) == {"draft": 1}


def test_a_change_of_somebody_else_is_shown_and_never_written_over_unasked(
    echo_server: Process, browser: Browser
) -> None:
    begin(echo_server, n=1)
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive(IS_REFUSED)
        tab = visitor.open()
        editor = open_notes(tab)
        echo_server.call("POST", "/api/notes/patch", {"filter": ".n = 2"})
        expect(editor).to_have_value('{\n  "n": 2\n}')
        editor.fill('{"n": "mine"}')
        echo_server.call("POST", "/api/notes/patch", {"filter": ".n = 3"})
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("The notes were changed in the meantime")
        expect(editor).to_have_value('{"n": "mine"}')
        assert saved(echo_server) == {"n": 3}
        button(tab, "Overwrite with mine").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("Saved as version")
        assert saved(echo_server) == {"n": "mine"}


def test_an_export_comes_back_by_import(echo_server: Process, browser: Browser, tmp_path: Path) -> None:
    begin(echo_server, kept="ä 🦉")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open()
        editor = open_notes(tab)
        with tab.page.expect_download() as download:
            button(tab, "Export").click()
        assert download.value.suggested_filename == "notes.json"
        download.value.save_as(tmp_path / "notes.json")
        editor.fill("{}")
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text(".kept deleted")
        tab.page.get_by_label("Notes to import").set_input_files(tmp_path / "notes.json")
        expect(editor).to_have_value(re.compile("🦉"))
        assert saved(echo_server) == {}
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("Saved as version")
        assert saved(echo_server) == {"kept": "ä 🦉"}


def test_hostile_notes_are_text(echo_server: Process, browser: Browser) -> None:
    begin(echo_server)
    for name, text in HOSTILE.items():
        filter_text = f".[{json.dumps(text)}] = {json.dumps({name: text})}"
        echo_server.call("POST", "/api/notes/patch", {"filter": filter_text})
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open()
        editor = open_notes(tab)
        assert json.loads(editor.input_value()) == {text: {name: text} for name, text in HOSTILE.items()}
        tab.dialog.get_by_text("History").click()
        first = tab.dialog.locator(".notes-history li").first
        first.get_by_role("button", name=re.compile("^Show")).click()
        expect(first.locator("pre")).to_contain_text("<script>window.hacked = 1</script>")
        editor.press("End")
        editor.press_sequentially(" ")
        button(tab, "Discard").click()
        button(tab, "Undo").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("deleted")
        assert tab.page.evaluate("window.hacked ?? null") is None
        assert tab.page.locator("halo-notes :is(script, img, iframe, svg, object, embed, form, a)").count() == 0


def test_notes_may_be_plain_text_and_stay_so(echo_server: Process, browser: Browser) -> None:
    begin(echo_server, cat="Mia")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open()
        editor = open_notes(tab)
        editor.fill("Milk\nCall Ann on Tuesday")
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("Saved as version")
        expect(editor).to_have_value("Milk\nCall Ann on Tuesday")
        assert echo_server.call("GET", "/api/notes")["text"] == "Milk\nCall Ann on Tuesday"
        editor.press("End")
        editor.type(" at noon")
        button(tab, "Save").click()
        expect(tab.dialog.locator(".notes-note")).to_contain_text("at noon")
