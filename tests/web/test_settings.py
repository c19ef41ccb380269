"""Settings of the program, of a window and of the page itself survive a reload."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.pages import new_window, visiting
from support.servers.processes import ECHO, Process, running


def test_a_setting_of_the_program_survives_reload_and_restart(tmp_path: Path, browser: Browser) -> None:
    for attempt in range(2):
        with running(tmp_path, *ECHO, "--port", "0") as process:
            process.wait_until_ready()
            with visiting(browser, process.address) as visitor:
                tab = visitor.open()
                tab.open_dialog("settings")
                tab.dialog.get_by_role("button", name="Generation", exact=True).click()
                field = tab.page.locator('[id="setting-generation.max_tokens"]')
                if attempt == 0:
                    field.fill("77")
                    field.press("Tab")
                    expect(tab.dialog.get_by_role("button", name="Reset generation.max_tokens")).to_be_visible()
                    tab.page.reload()
                    tab.ready()
                    tab.open_dialog("settings")
                    tab.dialog.get_by_role("button", name="Generation", exact=True).click()
                expect(field).to_have_value("77")
    assert "max_tokens = 77" in "".join(path.read_text() for path in tmp_path.rglob("config.toml"))


def test_a_value_that_is_not_allowed_is_refused_in_words(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "refusing")
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 400")
        tab = visitor.open(window)
        tab.open_dialog("settings")
        tab.dialog.get_by_role("button", name="Generation", exact=True).click()
        field = tab.page.locator('[id="setting-generation.max_tokens"]')
        field.fill("-5")
        field.press("Tab")
        expect(tab.dialog.locator(".setting-note.problem")).to_be_visible()
        assert echo_server.call("GET", "/api/status")


def test_a_setting_of_a_window_is_its_own(echo_server: Process, browser: Browser) -> None:
    one, other = new_window(echo_server, "own"), new_window(echo_server, "other")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(one)
        tab.open_dialog("settings")
        tab.dialog.get_by_role("button", name="This window only").click()
        field = tab.page.locator('[id="setting-chat.system_prompt"]')
        field.fill("Answer in one word.")
        field.press("Tab")
        expect(tab.dialog.get_by_role("button", name="Reset chat.system_prompt")).to_be_visible()
    states = [echo_server.call("GET", f"/api/windows/{window}")["overrides"] for window in (one, other)]
    assert states == [{"chat.system_prompt": "Answer in one word."}, {}]


def test_view_and_theme_are_remembered(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "looks")
    with visiting(browser, echo_server.address, color_scheme="light") as visitor:
        tab = visitor.open(window)
        html = tab.page.locator("html")
        expect(html).to_have_attribute("data-theme", "light")
        tab.set_view("Weave")
        tab.open_dialog("settings")
        tab.dialog.get_by_role("radio", name="Dark").check()
        tab.page.reload()
        expect(html).to_have_attribute("data-theme", "dark")
        expect(tab.page.locator("halo-transcript")).to_have_attribute("data-view", "weave")


def test_single_letter_keys_can_be_switched_off(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "letters")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.open_dialog("settings")
        tab.dialog.get_by_role("checkbox", name="Single-letter keys").uncheck()
        tab.page.reload()
        tab.ready()
        transcript = tab.page.locator("halo-transcript")
        tab.page.get_by_role("banner").get_by_role("heading").click()
        tab.page.keyboard.press("w")
        tab.page.keyboard.press("n")
        tab.page.keyboard.press("Control+/")
        expect(tab.page.get_by_role("dialog", name="Help")).to_contain_text("These single-letter keys are off.")
        expect(transcript).to_have_attribute("data-view", "read")
        tab.page.keyboard.press("Escape")
        tab.open_dialog("settings")
        tab.dialog.get_by_role("checkbox", name="Single-letter keys").check()
        tab.page.keyboard.press("Escape")
        expect(tab.dialog).to_have_count(0)
        tab.page.keyboard.press("w")
        expect(transcript).to_have_attribute("data-view", "weave")


def test_a_model_that_cannot_be_loaded_is_refused_and_the_working_one_stays(tmp_path: Path, browser: Browser) -> None:
    settings = '[engine]\nkind = "echo"\n'
    tmp_path.joinpath("config.toml").write_text(settings, encoding="utf-8")
    with running(tmp_path, "--no-browser", "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            visitor.forgive("status of 400")
            tab = visitor.open()
            tab.open_dialog("settings")
            tab.dialog.get_by_role("button", name="Model", exact=True).click()
            tab.page.locator('[id="setting-engine.kind"]').select_option("llamacpp")
            tab.page.locator('[id="setting-engine.model"]').fill(str(tmp_path / "nothing.gguf"))
            tab.dialog.get_by_role("button", name="Apply").click()
            expect(tab.dialog.locator(".setting .setting-note.problem")).to_contain_text("nothing.gguf cannot be read")
            expect(tab.dialog.locator(".applying .setting-note")).to_have_text("Nothing was changed.")
            tab.page.keyboard.press("Escape")
            tab.say("Still here?")
            expect(tab.turn(1)).to_contain_text("You said: Still here?")
    assert tmp_path.joinpath("config.toml").read_text(encoding="utf-8") == settings


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("dark", "Theme"),
        ("length", "generation.max_tokens"),
        ("repetition", "generation.repeat_penalty"),
        ("looping", "generation.phrase_penalty"),
        ("creative", "generation.temperature"),
        ("persona", "chat.system_prompt"),
        ("graphics card", "engine.gpu_layers"),
        ("summarise", "reflection.is_on"),
        ("max_tokens", "generation.max_tokens"),
    ],
)
def test_a_setting_is_found_by_what_a_person_calls_it(
    echo_server: Process, browser: Browser, words: str, found: str
) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, f"find {words}"))
        tab.open_dialog("settings")
        tab.dialog.get_by_label("Find a setting").fill(words)
        expect(tab.dialog.locator(".setting-fields").get_by_text(found, exact=True).first).to_be_visible()
        tab.dialog.get_by_label("Find a setting").fill("zzz")
        expect(tab.dialog.locator(".setting-fields")).to_have_text("No setting found.")


def test_the_ten_that_matter_come_first_and_the_rest_are_folded(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "folded"))
        tab.open_dialog("settings")
        names = tab.dialog.locator(".setting-fields .setting-head code")
        expect(names).to_have_count(10)
        assert names.first.inner_text() == "chat.system_prompt"
        tab.dialog.get_by_role("button", name="Generation", exact=True).click()
        hidden = tab.page.locator('[id="setting-generation.top_k"]')
        expect(tab.page.locator('[id="setting-generation.max_tokens"]')).to_be_visible()
        expect(hidden).to_be_hidden()
        tab.dialog.get_by_text("Advanced (").click()
        expect(hidden).to_be_visible()
        for group in ("How it answers", "What it remembers", "What it runs on"):
            expect(tab.dialog.get_by_role("group", name=group)).to_be_visible()


def test_a_value_that_a_model_brings_says_so(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, "--no-browser", "--port", "0", "--set", "reader.kind=off") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            tab.open_dialog("settings")
            tab.dialog.get_by_role("button", name="Generation", exact=True).click()
            setting = tab.dialog.locator(".setting", has=tab.page.locator('[id="setting-generation.phrase_penalty"]'))
            expect(setting.locator(".setting-origin")).to_contain_text("default of SmolLM2-135M")
            expect(setting.locator("input[type=number]")).to_have_value("0.8")


def test_a_model_that_stays_because_the_new_one_failed_is_named(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "stays"))
        told = tab.page.evaluate(
            """async () => {
              const folder = document.querySelector('script[src$="main.js"]').src.replace("main.js", "");
              const { engineFailure } = await import(`${folder}engine/engine-outcome.js`);
              const old = { state: "ready", text: "ready", model: "old.gguf" };
              const failed = { ...old, failure: "new.gguf is damaged." };
              return [old, failed, { ...old, state: "away", text: "No such file" }].map(engineFailure);
            }"""
        )
    assert told == [
        "",
        "The new model could not be loaded: new.gguf is damaged. old.gguf is still in use.",
        "The new model could not be loaded: No such file.",
    ]
