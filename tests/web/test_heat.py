"""The weave view shows what the newest message looks at, and offers other colours; the legend names what is shown."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running


@pytest.fixture(scope="module")
def reading_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    arguments = (*ECHO, "--set", "weave.resurrection=false", "--set", "reader.kind=bundled", "--port", "0")
    with running(tmp_path_factory.mktemp("served"), *arguments) as process:
        process.wait_until_ready()
        yield process


def legend(tab: Tab) -> Locator:
    return tab.page.locator("halo-legend")


def test_the_words_that_the_newest_message_looks_at_stand_out(reading_server: Process, browser: Browser) -> None:
    window = new_window(reading_server, "looking")
    with visiting(browser, reading_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("My cat Miso sleeps on the warm router.")
        tab.say("The ferry to the island was late because of the crane.")
        tab.say("Where does my cat Miso sleep?")
        expect(legend(tab).get_by_role("heading")).to_have_text("What the newest message looks at")
        expect(tab.turn(0).locator(".words > .b7").first).to_be_visible()
        expect(tab.turn(2).locator(".words > .b7")).to_have_count(0)
        expect(tab.turn(4).locator(".words > [class^=b]")).to_have_count(0)  # the message itself
        expect(legend(tab)).to_contain_text("%")
        expect(tab.turn(0).locator(".words > .out").last).to_have_text(".")


def test_each_kind_of_colour_can_be_chosen_is_named_and_is_chosen_again_after_a_reload(
    echo_server: Process, browser: Browser
) -> None:
    window = new_window(echo_server, "choosing")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        for text in ("My cat Miso sleeps.", "The ferry was late.", "Where is Miso?"):
            tab.say(text)
        choice = tab.page.get_by_label("Colour by")
        expect(choice).to_have_value("message")
        expect(legend(tab)).to_contain_text("no model reads along")
        for value, title, shown in (
            ("brightness", "Brightness", "0"),
            ("attention", "What the last step looked at", "%"),
            ("age", "Age", "oldest"),
            ("keeping", "What would be kept", "leaves first"),
        ):
            choice.select_option(value)
            expect(legend(tab).get_by_role("heading")).to_have_text(title)
            expect(legend(tab).locator(".numbers")).to_contain_text(shown)
            expect(tab.turn(0).locator(".words > [class^=b]").first).to_be_visible()
        tab.page.reload()
        tab.ready()
        expect(choice).to_have_value("keeping")
        expect(legend(tab).get_by_role("heading")).to_have_text("What would be kept")


def test_of_the_past_brightness_is_shown_and_the_legend_says_so(reading_server: Process, browser: Browser) -> None:
    window = new_window(reading_server, "colours of the past")
    with visiting(browser, reading_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        for text in ("My cat Miso sleeps.", "The ferry was late.", "Where is Miso?"):
            tab.say(text)
        expect(legend(tab).get_by_role("heading")).to_have_text("What the newest message looks at")
        tab.page.get_by_role("button", name="One change back").click()
        expect(legend(tab).get_by_role("heading")).to_have_text("Brightness then")
        tab.page.get_by_role("button", name="Back to now").click()
        expect(legend(tab).get_by_role("heading")).to_have_text("What the newest message looks at")
