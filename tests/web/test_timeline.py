"""The timeline outlives a reload, shows the past only in the weave view, and never stays in it by accident."""

import re
import signal
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from support.pages import SERVER_IS_AWAY, Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running


def slider(tab: Tab) -> Locator:
    return tab.page.get_by_role("slider", name="Earlier context")


def banner(tab: Tab) -> Locator:
    return tab.page.get_by_role("region", name="The past")


def go_to(tab: Tab, name: str) -> None:
    tab.page.locator(f"halo-window-row:has-text('{name}') .item").first.click()
    expect(tab.page.locator("#window-name")).to_have_text(name)


def expect_past(tab: Tab, turns: int) -> None:
    expect(tab.page.locator("halo-transcript")).to_have_class(re.compile("past"))
    expect(banner(tab)).to_be_visible()
    expect(tab.turns).to_have_count(turns)


def expect_now(tab: Tab, turns: int) -> None:
    expect(tab.page.locator("halo-transcript")).not_to_have_class(re.compile("past"))
    expect(banner(tab)).to_be_hidden()
    expect(tab.page.locator("halo-timeline.looking")).to_have_count(0)
    expect(tab.turns).to_have_count(turns)


def expect_slider_at_its_end(tab: Tab, last: int) -> None:
    expect(slider(tab)).to_have_attribute("max", str(last))
    expect(slider(tab)).to_have_js_property("value", str(last))
    expect(tab.page.locator("halo-timeline")).to_contain_text("now")


def test_a_window_that_is_shown_again_shows_the_present(echo_server: Process, browser: Browser) -> None:
    names = [f"{name} of switching" for name in ("main", "two", "three")]
    main, *_ = [new_window(echo_server, name) for name in names]
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(main)
        tab.set_view("Weave")
        tab.say("One")
        tab.say("Two")
        for name, turns in ((names[1], 0), (names[2], 0), (names[1], 0), (names[0], 4)):
            go_to(tab, name)
            expect_now(tab, turns)
        expect_slider_at_its_end(tab, 3)
        tab.say("Three")
        expect_now(tab, 6)
        expect_slider_at_its_end(tab, 5)
        slider(tab).press("Home")
        expect_past(tab, 1)
        go_to(tab, names[1])
        expect_now(tab, 0)
        go_to(tab, names[0])
        expect_now(tab, 6)
        tab.say("Four")
        expect_now(tab, 8)
        expect_slider_at_its_end(tab, 7)


def test_the_read_view_shows_the_present_and_what_is_sent(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "reading")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("One")
        slider(tab).press("Home")
        expect_past(tab, 1)
        tab.set_view("Read")
        expect_now(tab, 2)
        tab.say("Two")
        expect_now(tab, 4)
        tab.set_view("Weave")
        expect_now(tab, 4)
        expect_slider_at_its_end(tab, 3)


def test_sending_returns_to_the_present(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "sending")
    with visiting(browser, echo_server.address) as visitor:
        tab, other = visitor.open(window), visitor.open(window)
        for each in (tab, other):
            each.set_view("Weave")
        tab.say("One")
        expect(other.turns).to_have_count(2)
        for each in (tab, other):
            each.page.bring_to_front()
            slider(each).press("Home")
            expect_past(each, 1)
        tab.say("Two")
        expect_now(tab, 4)
        other.page.bring_to_front()
        expect_past(other, 1)  # a tab that views the past is not pulled back to the present by others
        expect(slider(other)).to_have_attribute("max", "3")
        slider(other).press("End")
        expect_now(other, 4)


def test_the_past_says_what_it_is_and_leads_back(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "banner")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("One")
        tab.do(tab.chunks.first, "Pin")
        expect_slider_at_its_end(tab, 2)
        tab.page.get_by_role("button", name="One change back").click()
        expect_past(tab, 2)
        expect(banner(tab)).to_contain_text("2 passages in context then")
        expect(banner(tab)).to_contain_text("Halo's reply")
        tab.page.get_by_role("button", name="One change back").click()
        expect_past(tab, 1)
        expect(banner(tab)).to_contain_text("Your message")
        expect(tab.page.get_by_role("button", name="One change back")).to_be_disabled()
        tab.turn(0).hover()
        expect(tab.control(tab.turn(0), "Pin")).to_be_hidden()  # nothing can be done to the past
        banner(tab).get_by_role("button", name="Back to now").click()
        expect_now(tab, 2)


def test_going_to_what_lives_now_returns_to_the_present(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "finding")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("One")
        tab.say("A zeppelin hangs above the town hall.")
        slider(tab).press("Home")
        expect_past(tab, 1)
        tab.page.keyboard.press("Control+k")
        tab.dialog.get_by_role("combobox").first.fill("zeppelin")
        expect(tab.hits.filter(has_text="zeppelin").first).to_be_visible()
        tab.page.keyboard.press("Enter")
        expect(tab.chunks.filter(has_text="zeppelin").first).to_be_in_viewport()
        expect_now(tab, 4)


def test_a_long_timeline_is_loaded_as_one_goes_back(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "long timeline")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("One")
        for _ in range(105):
            for action in ("pin", "unpin"):
                key = tab.chunks.first.get_attribute("data-key")
                echo_server.call("POST", f"/api/windows/{window}/chunks/{key}/{action}")
        tab.set_view("Weave")
        expect_slider_at_its_end(tab, 199)
        slider(tab).press("Home")
        expect_past(tab, 2)
        expect(slider(tab)).to_have_attribute("max", "211")
        expect(slider(tab)).to_have_js_property("value", "12")  # the same moment as before
        slider(tab).press("Home")
        expect_past(tab, 1)
        expect(tab.page.get_by_role("button", name="One change back")).to_be_disabled()


def test_the_timeline_is_whole_after_a_kill_and_a_reload(tmp_path: Path, browser: Browser) -> None:
    """Each moment shows what was in the context then, and why it changed."""
    arguments = (*ECHO, "--set", "weave.resurrection=false", "--set", "weave.budget_tokens=60")
    with running(tmp_path, *arguments, "--port", "0") as server:
        server.wait_until_ready()
        window = new_window(server, "outliving")
        with visiting(browser, server.address) as visitor:
            tab = visitor.open(window)
            tab.set_view("Weave")
            for text in ("The harbour opens at nine.", "Gardens need water.", "Winter is long here."):
                tab.say(text)
            visitor.forgive(SERVER_IS_AWAY)
            server.end(signal.SIGKILL)
    with running(tmp_path, *arguments, "--port", "0") as server, visiting(browser, server.address) as visitor:
        server.wait_until_ready()
        moments = server.call("GET", f"/api/windows/{window}/timeline")
        burials = [change for moment in moments for change in moment["changes"] if change["kind"] == "buried"]
        assert burials
        tab = visitor.open(window)
        tab.set_view("Weave")
        expect_slider_at_its_end(tab, len(moments) - 1)
        for moment in moments[1:]:
            past = server.call("GET", f"/api/windows/{window}/timeline/{moment['number']}")
            tab.page.get_by_role("button", name="One change back").click()
            expect_past(tab, len({chunk["key"]["turn"] for chunk in past["chunks"]}))
            expect(tab.chunks).to_have_text([re.compile(re.escape("".join(one["pieces"]))) for one in past["chunks"]])
            banner(tab).locator("summary").click()
            for change in moment["changes"]:
                expect(banner(tab)).to_contain_text(change["reason"])
            banner(tab).locator("summary").click()
        slider(tab).press("End")
        expect_slider_at_its_end(tab, len(moments) - 1)
