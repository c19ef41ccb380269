"""Appearance and accessibility of the page: both themes and views, a phone, a screen reader, a keyboard."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process

MARKDOWN = """# Heading

A list with **bold** and `code` and a [link](https://example.org/):

- one
- two

```python
def greet(name: str) -> str:  # politely
    return f"Hello, {name}"
```

| a | b |
| - | - |
| 1 | 2 |

> quoted
"""
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DIALOGS = ("search", "settings", "figures", "transfer", "help", "tree", "notes", "tools")


@pytest.fixture(scope="module")
def window(echo_server: Process, browser: Browser) -> str:
    """A window with content: Markdown, a pinned chunk and a buried one."""
    window = new_window(echo_server, "looks", **{"weave.budget_tokens": 500})
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        for text in ("Something that will be buried soon.", "Something else.", *[MARKDOWN] * 3, "And now?"):
            tab.say(text)
        tab.do(tab.chunks.last, "Pin")
    return window


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("view", ["Read", "Weave"])
def test_nothing_serious_stands_in_the_way_of_anybody(
    echo_server: Process, browser: Browser, window: str, theme: str, view: str
) -> None:
    with visiting(browser, echo_server.address, color_scheme=theme, bypass_csp=True) as visitor:
        tab = visitor.open(window)
        tab.set_view(view)
        expect(tab.graves.first).to_be_visible()
        if view == "Read":
            expect(tab.page.locator(".rendered pre").last).to_be_visible()
        found = {"page": serious(tab.page)}
        for name in (*DIALOGS, "window-notes") if view == "Read" else ():
            tab.open_dialog(name)
            if name == "search":
                tab.page.get_by_role("combobox").first.fill("something")
                expect(tab.hits.first).to_be_visible()
            tab.page.wait_for_timeout(100)
            found[name] = serious(tab.page)
            tab.page.keyboard.press("Escape")
            expect(tab.dialog).to_have_count(0)
        assert {place: findings for place, findings in found.items() if findings} == {}


def serious(page: Page) -> list[str]:
    """Return the rule and element of each violation that axe finds."""
    findings = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{finding['id']}: {[(node['target'], node.get('failureSummary')) for node in finding['nodes'][:3]]}"
        for finding in findings
        if finding["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("view", ["Read", "Weave"])
def test_on_a_phone_everything_fits_one_column(echo_server: Process, browser: Browser, window: str, view: str) -> None:
    with visiting(browser, echo_server.address, **PHONE) as visitor:
        tab = visitor.open(window)
        tab.set_view(view)
        expect(tab.turns.last).to_be_visible()
        assert overflow(tab) <= 0
        expect(tab.page.get_by_role("navigation", name="Windows and memory")).to_be_hidden()
        tab.page.get_by_role("button", name="Windows and memory").click()
        expect(tab.page.locator("#open-search")).to_be_in_viewport()
        for name in DIALOGS:
            if not tab.page.locator(f"#open-{name}").is_visible():
                tab.page.get_by_role("button", name="Windows and memory").click()
            tab.open_dialog(name)
            tab.page.wait_for_timeout(50)
            assert overflow(tab) <= 0, name
            box = tab.dialog.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360, name
            tab.page.keyboard.press("Escape")
        if tab.page.locator("#open-search").is_visible():
            tab.page.get_by_role("button", name="Windows and memory").click()
        tab.page.get_by_role("button", name="Graveyard", exact=True).click()
        expect(tab.graves.first).to_be_in_viewport()
        tab.page.get_by_role("button", name="Graveyard", exact=True).click()
        tab.say("From a phone")
        expect(tab.turns.last).to_be_in_viewport()


def overflow(tab: Tab) -> int:
    pixels: int = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return pixels


def test_brightness_is_painted_and_explained(echo_server: Process, browser: Browser, window: str) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        expect(tab.page.locator("halo-legend .bucket")).to_have_count(9)
        expect(tab.page.locator("halo-legend .numbers")).to_have_text(re.compile(r"\d"))
        expect(tab.page.locator(".words > [class^=b]").first).to_be_visible()
        tab.chunks.last.locator(".words > span").first.click()
        card = tab.page.locator("halo-card")
        expect(card).to_contain_text(re.compile(r"brightness [\d,]+"))
        expect(card).to_contain_text(re.compile(r"token \d+"))
        tab.set_view("Read")
        expect(tab.page.locator("halo-legend")).to_be_hidden()


def test_what_is_new_is_plain_until_a_look_has_met_it(model_server: Process, browser: Browser) -> None:
    """A reply that is fully bright throughout is not painted as if all of it stood out."""
    window = new_window(model_server, "new words", **{"generation.max_tokens": 12})
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.page.get_by_label("Colour by").select_option("brightness")
        tab.say("The heron stands in the reeds and waits for a small silver fish.")
        expect(tab.turn(1).locator(".words > span").first).to_be_visible()
        expect(tab.turn(1).locator(".words > [class^=b]")).to_have_count(0)
        expect(tab.page.locator(".unseen-tokens")).to_contain_text("without attention yet")
        tab.say("What does the bird wait for?")
        expect(tab.turn(1).locator(".words > [class^=b]").first).to_be_visible()
        expect(tab.turn(3).locator(".words > span").first).to_be_visible()
        expect(tab.turn(3).locator(".words > [class^=b]")).to_have_count(0)


def test_the_timeline_shows_the_context_as_it_was(echo_server: Process, browser: Browser) -> None:
    new_window(echo_server, "another")
    window = new_window(echo_server, "then and now")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.set_view("Weave")
        tab.say("One")
        tab.say("Two")
        slider = tab.page.get_by_role("slider", name="Earlier context")
        slider.press("Home")
        expect(tab.turns).to_have_count(1)
        expect(tab.page.locator("halo-past-banner")).to_contain_text("1 passage in context then")
        tab.page.locator("halo-window-row:has-text('another') .item").click()
        expect(tab.page.locator("#window-name")).to_have_text("another")
        expect(tab.page.get_by_text("One conversation that never ends")).to_be_visible()
        tab.page.locator("halo-window-row:has-text('then and now') .item").click()
        expect(tab.turns).to_have_count(4)
        slider.press("Home")
        slider.press("ArrowRight")
        expect(tab.turns).to_have_count(2)
        slider.press("End")
        expect(tab.turns).to_have_count(4)


def test_the_keys_that_people_know_work(echo_server: Process, browser: Browser, window: str) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        graveyard = tab.page.get_by_role("complementary", name="Graveyard")
        expect(graveyard).to_be_visible()
        tab.page.get_by_role("banner").get_by_role("heading").click()
        tab.page.keyboard.press("g")
        expect(graveyard).to_be_hidden()
        tab.page.keyboard.press("w")
        expect(tab.page.locator("halo-transcript")).to_have_attribute("data-view", "weave")
        for keys, title in (("Control+k", "Search the memory"), ("Control+/", "Help"), ("n", "Notes")):
            tab.page.keyboard.press(keys)
            expect(tab.page.get_by_role("dialog", name=title)).to_be_visible()
            tab.page.keyboard.press("Escape")
            expect(tab.dialog).to_have_count(0)
        tab.box.fill("one line")
        tab.box.press("Shift+Enter")
        tab.box.type("g")
        expect(tab.box).to_have_value("one line\ng")
        expect(graveyard).to_be_hidden()


def test_a_screen_reader_hears_the_status_but_not_every_word(
    echo_server: Process, browser: Browser, window: str
) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        log = tab.page.get_by_role("log")
        expect(log).to_have_attribute("aria-live", "off")
        unnamed = "all => all.filter(one => !(one.getAttribute('aria-label') || one.textContent.trim())).length"
        assert tab.page.eval_on_selector_all("button", unnamed) == 0
        tab.do(tab.chunks.last, "Delete")
        expect(tab.page.locator("#announcer")).to_have_text(re.compile("Deleted"))
        tab.toasts.get_by_role("button", name="Undo").click()
        expect(tab.toasts).to_have_count(0)


def test_a_dialog_that_is_opened_right_behind_another_keeps_its_content(echo_server: Process, browser: Browser) -> None:
    """A browser reports a closed dialog a moment later, when the next may already be open."""
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "dialogs"))
        tab.open_dialog("transfer")
        tab.page.evaluate(
            """() => new Promise((heard) => {
              const dialog = document.querySelector("halo-dialogs dialog");
              dialog.addEventListener("close", () => setTimeout(heard), { once: true });
              dialog.close();
              document.getElementById("open-search").click();
            })"""
        )
        expect(tab.dialog).to_be_visible()
        expect(tab.dialog.get_by_role("combobox").first).to_be_visible()
