"""An empty window invites: messages that show the memory at work, what the words mean, and a way to another model."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from support.pages import new_window, visiting
from support.servers.processes import ECHO, Process, running


def test_an_empty_memory_offers_things_to_tell_it_and_one_of_them_can_be_sent(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            tab = visitor.open()
            welcome = tab.page.locator("halo-welcome")
            expect(welcome).to_contain_text("Tell it something worth remembering")
            examples = welcome.locator(".examples").get_by_role("button")
            expect(examples).to_have_count(3)
            text = examples.first.inner_text()
            examples.first.click()
            expect(tab.box).to_have_value(text)
            expect(tab.box).to_be_focused()
            tab.box.press("Enter")
            tab.idle()
            expect(tab.turn(0)).to_contain_text(text)
            expect(welcome).to_have_count(0)


def test_a_memory_with_a_past_offers_questions_about_it(echo_server: Process, browser: Browser) -> None:
    told, empty = new_window(echo_server, "garden plans"), new_window(echo_server, "empty")
    with visiting(browser, echo_server.address) as visitor:
        visitor.open(told).say("The apple tree comes to the south wall.")
        welcome = visitor.open(empty).page.locator("halo-welcome")
        expect(welcome).to_contain_text("Ask about the past")
        expect(welcome.locator(".examples").get_by_role("button")).to_have_count(3)
        expect(welcome.get_by_role("button", name="garden plans")).to_be_visible()


def test_it_says_what_a_window_and_the_graveyard_are_and_leads_to_the_model(
    echo_server: Process, browser: Browser
) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "words"))
        terms = tab.page.locator("halo-welcome .terms")
        expect(terms).to_contain_text("all of them share one memory")
        expect(terms).to_contain_text("Nothing in it is lost")
        tab.page.get_by_role("button", name="Choose a model").click()
        expect(tab.page.get_by_role("dialog", name="Model")).to_be_visible()
        tab.page.keyboard.press("Escape")
        tab.page.keyboard.press("g")
        expect(tab.page.locator("halo-graveyard")).to_contain_text("brings it back")
