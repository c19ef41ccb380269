"""Settings of the program, of a window and of the page itself survive a reload."""

from pathlib import Path

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
                tab.dialog.get_by_role("button", name="Generation").click()
                field = tab.page.locator('[id="setting-generation.max_tokens"]')
                if attempt == 0:
                    field.fill("77")
                    field.press("Tab")
                    expect(tab.dialog.get_by_role("button", name="Reset generation.max_tokens")).to_be_visible()
                    tab.page.reload()
                    tab.ready()
                    tab.open_dialog("settings")
                    tab.dialog.get_by_role("button", name="Generation").click()
                expect(field).to_have_value("77")
    assert "max_tokens = 77" in "".join(path.read_text() for path in tmp_path.rglob("config.toml"))


def test_a_value_that_is_not_allowed_is_refused_in_words(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "refusing")
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 400")
        tab = visitor.open(window)
        tab.open_dialog("settings")
        tab.dialog.get_by_role("button", name="Generation").click()
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


def test_a_model_that_cannot_be_loaded_is_reported_where_it_was_applied(tmp_path: Path, browser: Browser) -> None:
    tmp_path.joinpath("config.toml").write_text('[engine]\nkind = "echo"\n', encoding="utf-8")
    with running(tmp_path, "--no-browser", "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            tab.open_dialog("settings")
            tab.dialog.get_by_role("button", name="Model", exact=True).click()
            tab.page.locator('[id="setting-engine.kind"]').select_option("llamacpp")
            tab.page.locator('[id="setting-engine.model"]').fill(str(tmp_path / "nothing.gguf"))
            tab.dialog.get_by_role("button", name="Apply").click()
            outcome = tab.dialog.locator("halo-engine-outcome.problem")
            expect(outcome).to_contain_text("The new model could not be loaded: ")
            expect(outcome).to_contain_text("nothing.gguf")


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
