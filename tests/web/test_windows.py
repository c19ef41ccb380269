"""The list of windows, and windows of the three kinds."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running
from web.test_looks import serious

SECRET = "Zanzibarium is my secret."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    """A server of its own: these tests depend on which windows there are."""
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        yield process


def begin(tab: Tab, label: str) -> None:
    before = tab.page.locator("halo-window-row").count()
    tab.page.locator(".new-windows").get_by_role("button", name=label, exact=True).click()
    expect(tab.page.locator("halo-window-row")).to_have_count(before + 1)
    expect(tab.box).to_be_focused()


def row(tab: Tab, name: str) -> Locator:
    return tab.page.locator("halo-window-row").filter(has=tab.page.get_by_text(name, exact=True))


def names(tab: Tab) -> Locator:
    return tab.page.locator(".window-name")


def act(tab: Tab, name: str, action: str) -> None:
    row(tab, name).hover()
    row(tab, name).get_by_role("button", name=f"Actions for {name}").click()
    row(tab, name).get_by_role("button", name=action, exact=True).click()


def test_a_window_is_named_after_its_first_message_and_keeps_a_name_that_was_given(
    server: Process, browser: Browser
) -> None:
    new_window(server, "main")
    with visiting(browser, server.address) as visitor:
        tab = visitor.open()
        begin(tab, "+ New window")
        expect(row(tab, "New window")).to_be_visible()
        tab.say("How do I prune an apple tree? It is old.")
        expect(row(tab, "How do I prune an apple tree?")).to_be_visible()
        expect(tab.page.locator("#window-name")).to_have_text("How do I prune an apple tree?")
        row(tab, "How do I prune an apple tree?").get_by_role("button").first.press("F2")
        tab.page.get_by_label("Name of the window").fill("Garden")
        tab.page.keyboard.press("Enter")
        expect(row(tab, "Garden")).to_be_visible()
        tab.say("And a pear tree?")
        expect(row(tab, "Garden")).to_be_visible()


def test_a_fresh_window_shows_that_it_does_without_recall_and_turns_it_on(server: Process, browser: Browser) -> None:
    main = new_window(server, "main")
    with visiting(browser, server.address) as visitor:
        tab = visitor.open(main)
        tab.say("The gardener Ottoline keeps the copper key under the third blue tile.")
        expect(tab.page.locator("halo-window-bar")).to_be_hidden()
        recall = tab.page.get_by_role("switch", name="Recall")
        expect(recall).to_have_attribute("aria-checked", "true")
        begin(tab, "+ Fresh")
        expect(recall).to_have_attribute("aria-checked", "false")
        expect(tab.page.locator("halo-window-bar")).to_contain_text("Without recall")
        tab.say("Where does the gardener Ottoline keep the copper key?")
        expect(tab.page.locator(".badge.returned")).to_have_count(0)
        tab.page.get_by_role("button", name="Turn recall on").click()
        expect(recall).to_have_attribute("aria-checked", "true")
        expect(tab.page.locator("halo-window-bar")).to_be_hidden()
        tab.say("Again: where does the gardener Ottoline keep the copper key of the blue tile?")
        expect(tab.page.locator(".card").filter(has_text="third blue tile").first).to_be_visible()
        recall.click()
        expect(recall).to_have_attribute("aria-checked", "false")


def test_a_private_window_says_so_and_leaves_nothing_in_the_browser(server: Process, browser: Browser) -> None:
    new_window(server, "main")
    with visiting(browser, server.address) as visitor:
        tab = visitor.open()
        begin(tab, "+ Private")
        expect(tab.page.locator("halo-window-bar")).to_contain_text("nothing you say here is saved")
        tab.say(SECRET)
        tab.box.fill("Zanzibarium, not sent yet")
        row(tab, "main").get_by_role("button").first.click()
        expect(tab.page.locator("halo-window-bar")).to_be_hidden()
        expect(tab.box).to_have_value("")
        row(tab, "Private window").get_by_role("button").first.click()
        expect(tab.box).to_have_value("Zanzibarium, not sent yet")
        expect(tab.turns.first).to_contain_text(SECRET)
        kept = tab.page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")
        assert "Zanzibarium" not in kept
        assert "Zanzibarium" not in str(server.call("GET", "/api/search?q=Zanzibarium"))
        act(tab, "Private window", "Close and forget")
        expect(row(tab, "Private window")).to_have_count(0)
        expect(tab.page.locator("#window-name")).to_have_text("main")
        expect(tab.page.locator("body")).not_to_have_class(re.compile("private"))


def test_windows_are_found_filed_and_put_in_order_and_stay_so(server: Process, browser: Browser) -> None:
    for name in ("Norway", "Bread", "Sweden"):
        new_window(server, name)
    with visiting(browser, server.address) as visitor:
        tab = visitor.open()
        expect(names(tab)).to_have_text(["Sweden", "Bread", "Norway"])
        # by keyboard
        row(tab, "Norway").get_by_role("button").first.focus()
        tab.page.keyboard.press("Alt+ArrowUp")
        expect(names(tab)).to_have_text(["Sweden", "Norway", "Bread"])
        expect(row(tab, "Norway").get_by_role("button").first).to_be_focused()
        tab.page.keyboard.press("ArrowDown")
        expect(row(tab, "Bread").get_by_role("button").first).to_be_focused()
        # by the mouse
        row(tab, "Bread").drag_to(row(tab, "Sweden"), target_position={"x": 20, "y": 2})
        expect(names(tab)).to_have_text(["Bread", "Sweden", "Norway"])
        # into a folder
        for name in ("Norway", "Sweden"):
            act(tab, name, "Folder…")
            tab.page.get_by_role("combobox", name="Folder of the window").fill("Trips")
            tab.page.keyboard.press("Enter")
            expect(tab.page.locator(".folder").filter(has=row(tab, name))).to_be_visible()
        tab.page.reload()
        tab.ready()
        expect(names(tab)).to_have_text(["Bread", "Sweden", "Norway"])
        expect(tab.page.locator(".folder .window-name")).to_have_text(["Sweden", "Norway"])
        tab.page.get_by_label("Find a window").fill("trip nor")
        expect(names(tab)).to_have_text(["Norway"])
        tab.page.get_by_label("Find a window").fill("nowhere")
        expect(tab.page.get_by_text("No window has this name.")).to_be_visible()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_nothing_serious_stands_in_the_way_in_a_private_window(server: Process, browser: Browser, theme: str) -> None:
    filed = new_window(server, "Norway")
    server.call("PATCH", f"/api/windows/{filed}", {"folder": "Trips"})
    with visiting(browser, server.address, color_scheme=theme, bypass_csp=True) as visitor:
        tab = visitor.open()
        begin(tab, "+ Private")
        tab.page.get_by_role("switch", name="Recall").click()
        expect(tab.page.locator("halo-window-bar p")).to_have_count(2)
        tab.page.get_by_label("Files to attach").set_input_files(
            FilePayload(name="recipe.txt", mimeType="text/plain", buffer=b"flour")
        )
        expect(tab.page.locator(".attached li")).to_have_count(1)
        act(tab, "Norway", "Folder…")
        assert serious(tab.page) == []


def test_an_empty_private_window_does_not_promise_to_remember(server: Process, browser: Browser) -> None:
    with visiting(browser, server.address) as visitor:
        tab = visitor.open(new_window(server, "promising"))
        expect(tab.page.locator(".welcome")).to_contain_text("stays in the memory")
        begin(tab, "+ Private")
        expect(tab.page.locator(".welcome")).to_contain_text("nothing that is said here is added")
        expect(tab.page.locator(".welcome")).not_to_contain_text("stays in the memory")
