"""What a person chooses about the look of the page: it applies at once, is kept in the browser, and stays readable."""

import re
from importlib import resources

import pytest
from playwright.sync_api import Browser, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process

RAMPS = ("amber", "ocean", "rose", "grey")
COLOURS = """() => {
  const style = getComputedStyle(document.documentElement);
  const all = (name) => Array.from({ length: 8 }, (_, level) => style.getPropertyValue(`--${name}${level}`).trim());
  return { text: all("b"), tint: all("tint"), mark: all("mark") };
}"""


@pytest.fixture(scope="module")
def window(echo_server: Process) -> str:
    return new_window(echo_server, "appearance")


def opened(tab: Tab) -> None:
    tab.open_dialog("settings")
    expect(tab.dialog.get_by_label("Text size")).to_be_visible()


def test_size_width_and_spacing_apply_at_once_and_after_a_reload(
    echo_server: Process, browser: Browser, window: str
) -> None:
    with visiting(browser, echo_server.address, viewport={"width": 1600, "height": 900}) as visitor:
        tab = visitor.open(window)
        tab.say("One paragraph.\n\nAnd another.")
        turn = tab.turn(0)
        before = turn.bounding_box()
        opened(tab)
        tab.dialog.get_by_label("Text size").fill("20")
        expect(turn).to_have_css("font-size", "20px")
        expect(tab.dialog.get_by_text("20 px")).to_be_visible()
        tab.dialog.get_by_label("Narrow").check()
        expect(turn).to_have_css("max-width", "640px")
        line = turn.evaluate("one => getComputedStyle(one).lineHeight")
        tab.dialog.get_by_label("Compact").check()
        expect(turn).not_to_have_css("line-height", line)
        tab.page.reload()
        tab.ready()
        expect(turn).to_have_css("font-size", "20px")
        expect(turn).to_have_css("max-width", "640px")
        expect(turn).to_have_css("line-height", "28px")
        opened(tab)
        expect(tab.dialog.get_by_label("Text size")).to_have_value("20")
        expect(tab.dialog.get_by_label("Narrow")).to_be_checked()
        expect(tab.dialog.get_by_label("Compact")).to_be_checked()
        after = turn.bounding_box()
        assert before is not None
        assert after is not None
        assert after["width"] < before["width"]


def test_another_tab_of_the_browser_follows(echo_server: Process, browser: Browser, window: str) -> None:
    with visiting(browser, echo_server.address) as visitor:
        one, other = visitor.open(window), visitor.open(window)
        opened(one)
        one.dialog.get_by_label("Rose").check()
        expect(other.page.locator("html")).to_have_attribute("data-ramp", "rose")


def test_what_another_program_wrote_into_the_browser_is_ignored(
    echo_server: Process, browser: Browser, window: str
) -> None:
    values = ("no JSON", "null", '{"size": 9000, "width": "x", "ramp": "constructor", "isCompact": 1}')
    with visiting(browser, echo_server.address) as visitor:
        for value in values:
            tab = visitor.open(window)
            tab.page.evaluate("value => localStorage.setItem('halo-page-style', value)", value)
            tab.page.reload()
            tab.ready()
            expect(tab.page.locator("html")).to_have_attribute("data-ramp", "amber")
            expect(tab.page.locator(".turns")).to_have_css("font-size", "15px")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_ramp_can_be_read_and_grows_brighter(
    echo_server: Process, browser: Browser, window: str, theme: str
) -> None:
    """Text has a contrast of at least 4.5 on every level, and no two levels look the same."""
    with visiting(browser, echo_server.address, color_scheme=theme) as visitor:
        tab = visitor.open(window)
        opened(tab)
        for ramp, label in zip(RAMPS, ("Amber", "Blue", "Rose", "Grey"), strict=True):
            tab.dialog.get_by_label(label).check()
            expect(tab.page.locator("html")).to_have_attribute("data-ramp", ramp)
            colours = tab.page.evaluate(COLOURS)
            page = "#141414" if theme == "dark" else "#fdfcf8"
            grounds = [page if tint == "transparent" else tint for tint in colours["tint"]]
            pairs = zip(colours["text"], grounds, strict=True)
            assert min(contrast(text, ground) for text, ground in pairs) >= 4.5
            levels = [luminance(one) for one in (colours["text"] if theme == "dark" else colours["tint"])]
            assert levels == sorted(levels, reverse=theme == "light")
            assert len(set(levels)) == 8


def test_each_ramp_is_one_that_the_stylesheet_knows() -> None:
    css = (resources.files("halo_weave") / "web" / "shared" / "choices.css").read_text(encoding="utf-8")
    assert set(re.findall(r'data-ramp="(\w+)"', css)) == set(RAMPS) - {"amber"}


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.03928 else float(((share + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(int(colour[place : place + 2], 16)) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, brighter = sorted((luminance(one), luminance(other)))
    return (brighter + 0.05) / (darker + 0.05)
