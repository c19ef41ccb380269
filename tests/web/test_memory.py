"""The graveyard, search, export and import on the page."""

import re
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, expect

from halo_weave.memory.sqlite.store import SqliteStore
from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running

SMALL = {"weave.budget_tokens": 260, "weave.keeps_by": "brightness", "weave.resurrection": False}
THINGS = ("Marmalade", "Lantern", "Umbrella", "Telescope", "Saddle", "Violin", "Compass", "Anchor", "Kettle", "Pillow")


def sentence_about(thing: str) -> str:
    return f"{thing} is kept on the upper shelf of the pantry, behind the large green tin."


def with_a_grave(tab: Tab) -> str:
    """Chat until something is buried; return what it was about."""
    for said, thing in enumerate(THINGS, start=1):
        tab.say(sentence_about(thing))
        left = tab.out_of_context()
        for earlier in THINGS[:said]:
            if sentence_about(earlier) in left:
                return earlier
    raise AssertionError("Nothing was buried.")


def test_a_grave_that_is_clicked_returns_pinned_and_in_sight(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "graves", **SMALL)
    with visiting(browser, echo_server.address, viewport={"width": 1300, "height": 500}) as visitor:
        tab = visitor.open(window)
        buried = sentence_about(with_a_grave(tab))
        tab.graves.filter(has_text=buried).get_by_role("button", name=re.compile("^Resurrect")).last.click()
        chunk = tab.page.locator(".chunk.pinned").filter(has_text=buried)
        expect(chunk).to_be_in_viewport()
        expect(chunk).to_be_focused()


def test_a_gap_tells_what_lies_in_it_and_opens(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "gaps", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        buried = sentence_about(with_a_grave(tab))
        tab.set_view("Weave")
        gap = tab.page.locator(".gap button").first
        expect(gap).to_have_text(re.compile(r"\(\d+ tokens\) (is|are) out of context\. Show$"))
        gap.click()
        expect(tab.page.locator(".scope")).to_be_visible()
        expect(tab.graves.filter(has_text=buried).first).to_be_visible()


def test_looking_changes_nothing_and_bringing_back_has_a_button_of_its_own(
    echo_server: Process, browser: Browser
) -> None:
    window = new_window(echo_server, "searching", **SMALL)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        buried = with_a_grave(tab)
        tab.say("A zeppelin hangs above the town hall.")
        tab.page.keyboard.press("Control+k")
        tab.page.get_by_role("combobox").first.fill("zeppelin")
        hits = tab.hits
        expect(hits.filter(has_text="zeppelin").first).to_be_visible()
        tab.page.keyboard.press("Enter")
        expect(tab.dialog).to_have_count(0)
        expect(tab.chunks.filter(has_text="zeppelin").first).to_be_in_viewport()
        tab.page.keyboard.press("Control+k")
        tab.page.get_by_role("combobox").first.fill(f"{buried} pantry")
        archived = hits.filter(has_text=sentence_about(buried)).filter(has_text="archived").first
        archived.click()
        tab.page.get_by_role("combobox").first.focus()
        before = echo_server.call("GET", f"/api/windows/{window}")
        tab.page.keyboard.press("Enter")
        expect(tab.dialog).to_have_count(0)
        place = tab.chunks.filter(has_text=buried).first
        expect(place).to_be_in_viewport()
        expect(place).to_have_class(re.compile(r"\bout\b"))
        after = echo_server.call("GET", f"/api/windows/{window}")
        assert [chunk["key"] for chunk in after["chunks"]] == [chunk["key"] for chunk in before["chunks"]]
        assert after["event"] == before["event"]
        tab.page.keyboard.press("Control+k")
        tab.page.get_by_role("combobox").first.fill(f"{buried} pantry")
        archived.click()
        tab.dialog.get_by_role("button", name="Bring back and pin").click()
        expect(tab.page.locator(".chunk.pinned").filter(has_text=buried).first).to_be_in_viewport()


def test_an_export_imported_into_another_memory_is_found_there(
    echo_server: Process, browser: Browser, tmp_path: Path
) -> None:
    window = new_window(echo_server, "exported")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("The harpsichord was tuned by Benedikt.")
        tab.open_dialog("transfer")
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name="Download the export").click()
        download.value.save_as(tmp_path / "export.jsonl")
    with running(tmp_path / "other", *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            tab.open_dialog("transfer")
            tab.page.get_by_label("File to import").set_input_files(tmp_path / "export.jsonl")
            expect(tab.dialog.locator(".job")).to_have_attribute("data-state", "done")
            tab.page.keyboard.press("Escape")
            tab.page.keyboard.press("Control+k")
            tab.page.get_by_role("combobox").first.fill("harpsichord")
            expect(tab.hits.filter(has_text="Benedikt").first).to_be_visible()
            tab.page.keyboard.press("Escape")
            exported = (tmp_path / "export.jsonl").read_bytes().split(b"\n")[1:]
            assert process.http.get("/api/export").content.split(b"\n")[1:] == exported


NOTES_WHAT_SCRIPTS_HOLD = """
window.held = [];
URL.createObjectURL = () => held.push("an object URL");
for (const name of ["blob", "arrayBuffer", "bytes"]) Response.prototype[name] = () => held.push(name);
"""


def test_a_backup_goes_from_the_server_to_the_disk_past_the_page(
    echo_server: Process, browser: Browser, tmp_path: Path
) -> None:
    window = new_window(echo_server, "backed up")
    with visiting(browser, echo_server.address) as visitor:
        visitor.context.add_init_script(NOTES_WHAT_SCRIPTS_HOLD)
        tab = visitor.open(window)
        tab.say("The harmonium was bought by Friederike.")
        tab.open_dialog("transfer")
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name="Download a backup").click()
        expect(tab.dialog).to_contain_text(f"The browser is downloading {download.value.suggested_filename}")
        download.value.save_as(tmp_path / "backup.db")
        assert tab.page.evaluate("held") == []
    # Not compared with a second backup: the server may store a vector between the two.
    with closing(SqliteStore(tmp_path / "backup.db")) as backup:
        assert backup.verify() == []
        assert any("harmonium" in stored.chunk.text for stored in backup.chunks_from(0, 10_000))


def test_a_backup_that_cannot_be_made_is_reported(echo_server: Process, browser: Browser) -> None:
    sentence = "The backup cannot be written: No space left on device."
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 503")
        visitor.context.route("**/api/backup", lambda route: route.fulfill(status=503, json={"error": sentence}))
        tab = visitor.open(new_window(echo_server, "not backed up"))
        tab.open_dialog("transfer")
        tab.page.get_by_role("button", name="Download a backup").click()
        expect(tab.dialog.get_by_text(sentence)).to_be_visible()
