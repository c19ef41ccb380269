"""The timeline shows the past only while somebody views it, and keeps a bounded part of it."""

import re

from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process


def slider(tab: Tab) -> Locator:
    return tab.page.get_by_role("slider", name="Earlier context")


def go_to(tab: Tab, name: str) -> None:
    tab.page.locator(f"halo-window-row:has-text('{name}') .item").first.click()
    expect(tab.page.locator("#window-name")).to_have_text(name)


def expect_now(tab: Tab) -> None:
    expect(tab.page.locator("halo-transcript")).not_to_have_class(re.compile("past"))
    expect(tab.page.locator("halo-timeline.lock")).to_have_count(0)


def test_a_window_that_is_shown_again_shows_the_present(echo_server: Process, browser: Browser) -> None:
    names = [f"{name} of switching" for name in ("main", "two", "three")]
    main, *_ = [new_window(echo_server, name) for name in names]
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(main)
        tab.set_view("Weave")
        tab.say("One")
        tab.say("Two")
        for name in (names[1], names[2], names[1], names[0]):
            go_to(tab, name)
            expect_now(tab)
        tab.say("Three")
        expect_now(tab)
        expect(tab.turns).to_have_count(6)
        go_to(tab, names[1])
        go_to(tab, names[0])
        tab.say("Four")
        expect(tab.turns).to_have_count(8)
        expect(tab.page.locator("halo-timeline")).to_contain_text("now")


def test_the_read_view_shows_the_present_and_what_is_sent(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "reading")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("One")
        slider(tab).press("Home")
        expect(tab.turns).to_have_count(0)
        tab.set_view("Read")
        expect_now(tab)
        expect(tab.turns).to_have_count(2)
        tab.say("Two")
        expect(tab.turns).to_have_count(4)
        tab.set_view("Weave")
        expect_now(tab)


def test_sending_returns_to_the_present(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "sending")
    with visiting(browser, echo_server.address) as visitor:
        tab, other = visitor.open(window), visitor.open(window)
        for each in (tab, other):
            each.set_view("Weave")
        tab.say("One")
        expect(other.turns).to_have_count(2)
        for each in (tab, other):
            slider(each).press("Home")
            expect(each.turns).to_have_count(0)
        tab.say("Two")
        expect_now(tab)
        expect(tab.turns).to_have_count(4)
        expect(other.turns).to_have_count(0)  # a tab that views the past is not pulled back to the present by others
        slider(other).press("End")
        expect(other.turns).to_have_count(4)


def test_going_to_what_lives_now_returns_to_the_present(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "finding")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("A zeppelin hangs above the town hall.")
        slider(tab).press("Home")
        expect(tab.turns).to_have_count(0)
        tab.page.keyboard.press("Control+k")
        tab.dialog.get_by_role("combobox").first.fill("zeppelin")
        expect(tab.hits.filter(has_text="zeppelin").first).to_be_visible()
        tab.page.keyboard.press("Enter")
        expect(tab.chunks.filter(has_text="zeppelin").first).to_be_in_viewport()
        expect_now(tab)


def test_what_the_timeline_keeps_is_bounded_over_all_windows(echo_server: Process, browser: Browser) -> None:
    """The oldest moment of the least recently viewed window goes first, and the newest moment of all stays."""
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "bounded"))
        kept = tab.page.evaluate(
            """async () => {
              const folder = document.querySelector('script[src$="main.js"]').src.replace("main.js", "");
              const { Moments } = await import(`${folder}timeline/moments.js`);
              const chunk = { pieces: new Array(100).fill("word") };
              const one = new Moments({ mostBytes: Infinity, mostOfWindow: 9 });
              one.add("any", { chunks: [chunk] });
              const moments = new Moments({ mostBytes: 6 * one.bytes, mostOfWindow: 5 });
              for (const id of ["a", "b", "a", "c", "b", "a", "a"]) moments.add(id, { id, chunks: [chunk] });
              const first = [moments.bytes / one.bytes, ...["c", "b", "a"].map((id) => moments.of(id).length)];
              for (let time = 0; time < 7; time += 1) moments.add("a", { chunks: [chunk] });
              const second = ["c", "b", "a"].map((id) => moments.of(id).length);
              moments.add("large", { chunks: new Array(100).fill(chunk) });
              return [first, second, ["a", "b", "c", "large"].map((id) => moments.of(id).length)];
            }"""
        )
    assert kept == [[6, 0, 2, 4], [0, 1, 5], [0, 0, 0, 1]]
