"""Notes that are always in context, and presets, in the dialog of a window."""

from playwright.sync_api import Browser, FilePayload, expect

from support.folders import TESTS
from support.pages import new_window, visiting
from support.servers.processes import Process

PRESET = TESTS / "support" / "data" / "sillytavern-text-completion.json"


def test_notes_of_a_window_are_saved_and_counted_in_the_meter(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "story", **{"weave.show_times": True})
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        expect(tab.page.locator("halo-meter .cause.notes")).to_have_count(0)
        tab.page.get_by_role("button", name="Notes", exact=True).last.click()
        tab.dialog.get_by_label("Character").fill("You are Ada, a lighthouse keeper.")
        tab.dialog.get_by_label("Author's note").fill("It is winter.")
        tab.dialog.get_by_role("button", name="Save the notes").click()
        expect(tab.dialog).to_contain_text("Saved.")
        tab.page.keyboard.press("Escape")
        expect(tab.page.locator("halo-meter .cause.notes")).to_be_visible()
        tokens = echo_server.call("GET", f"/api/windows/{window}")["meter"]["notes"]
        expect(tab.page.locator("halo-meter .cause.notes")).to_have_text(f"notes {tokens}")
        tab.page.reload()
        tab.ready()
        tab.page.locator("#open-window-notes").click()
        expect(tab.dialog.get_by_label("Character")).to_have_value("You are Ada, a lighthouse keeper.")
        overrides = echo_server.call("GET", f"/api/windows/{window}")["overrides"]
        assert overrides["weave.show_times"]


def test_a_preset_is_imported_chosen_saved_and_deleted(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "presets", **{"weave.show_times": True})
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 400")
        tab = visitor.open(window)
        tab.page.locator("#open-window-notes").click()
        tab.dialog.get_by_label("SillyTavern preset to import").set_input_files(PRESET)
        expect(tab.dialog).to_contain_text("sillytavern-text-completion is imported with 6 settings.")
        expect(tab.dialog).to_contain_text("Ignored, because there is no such setting here: temperature_last, top_a")
        tab.dialog.get_by_role("button", name="Use in this window").click()
        expect(tab.dialog).to_contain_text("This window uses sillytavern-text-completion")
        overrides = echo_server.call("GET", f"/api/windows/{window}")["overrides"]
        assert (overrides["generation.temperature"], overrides["weave.show_times"]) == (1.15, True)
        tab.dialog.get_by_label("Name of the new preset").fill("Mine")
        tab.dialog.get_by_role("button", name="Save this window's settings").click()
        expect(tab.dialog).to_contain_text("Mine is saved.")
        saved = {preset["name"]: preset["settings"] for preset in echo_server.call("GET", "/api/presets")}
        assert saved["Mine"]["generation.temperature"] == 1.15
        assert "weave.show_times" not in saved["Mine"]
        tab.dialog.get_by_role("button", name="Delete").click()
        expect(tab.dialog).to_contain_text("Mine is deleted.")
        expect(tab.dialog.get_by_label("Preset", exact=True).locator("option")).to_have_text(
            ["sillytavern-text-completion"]
        )
        file = FilePayload(name="no.json", mimeType="application/json", buffer=b"{")
        tab.dialog.get_by_label("SillyTavern preset to import").set_input_files(file)
        expect(tab.dialog).to_contain_text("This is not a JSON file")
