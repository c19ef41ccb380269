"""Markdown tables: aligned, complete, and scrolled inside their own box if too wide."""

import re
from collections.abc import Iterator
from importlib import resources

import pytest
from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process

COLUMNS = ("left", "right", "center")
TABLE = """| Instrument | Number of strings | Remark |
| :--- | ---: | :---: |
| Hammered dulcimer | 60 | struck |
| Kontrabassklarinette | 0 | wind |
"""
WIDE = f"| {' | '.join(map('Instrument{}'.format, range(12)))} |\n{'| :--- ' * 12}|\n{'| Kontrabassklarinette ' * 12}|"
# Reports which properties of a cell each class changes.
CHANGED_BY_CLASS = """(row, names) => {
  const styles = (name) => {
    const cell = document.createElement("td");
    cell.className = name;
    cell.textContent = "word";
    row.replaceChildren(cell);
    const computed = getComputedStyle(cell);
    return Object.fromEntries([...computed].map((one) => [one, computed.getPropertyValue(one)]));
  };
  const bare = styles("");
  const changed = (name) => Object.entries(styles(name)).filter(([one, value]) => bare[one] !== value);
  return Object.fromEntries(names.map((name) => [name, changed(name).map(([one]) => one)]));
}"""

# Whether a cell can be scrolled into its table's box.
CAN_BE_REACHED = """cell => {
  cell.scrollIntoView({ inline: "center", block: "nearest", behavior: "instant" });
  const [inner, outer] = [cell, cell.closest(".table-box")].map((one) => one.getBoundingClientRect());
  return inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
}"""


@pytest.fixture(scope="module")
def window(echo_server: Process) -> str:
    return new_window(echo_server, "tables")


@pytest.fixture(params=[1280, 360])
def tab(request: pytest.FixtureRequest, echo_server: Process, browser: Browser, window: str) -> Iterator[Tab]:
    with visiting(browser, echo_server.address, viewport={"width": request.param, "height": 800}) as visitor:
        yield visitor.open(window)


def table_of(tab: Tab, text: str) -> Locator:
    tab.say(text)
    table = tab.page.locator("article.turn.user").last.locator("table")  # not one of an earlier test
    expect(table).to_be_visible()
    return table


def test_every_cell_of_an_aligned_table_is_seen_in_its_place(tab: Tab) -> None:
    table = table_of(tab, TABLE)
    box = table.bounding_box()
    assert box is not None
    cells = table.locator("th, td")
    expect(cells).to_have_count(9)
    for place, cell in enumerate(cells.all()):
        expect(cell).to_be_visible()
        expect(cell).to_have_css("position", "static")
        expect(cell).to_have_css("text-align", COLUMNS[place % 3])
        within = cell.bounding_box()
        assert within is not None
        assert box["y"] <= within["y"]
        assert within["y"] + within["height"] <= box["y"] + box["height"] + 1
    rows = [[cell.bounding_box() for cell in row.locator("th, td").all()] for row in table.locator("tr").all()]
    for row in rows:
        assert len({round(cell["y"]) for cell in row if cell}) == 1  # side by side


def test_a_table_that_is_too_wide_scrolls_in_its_own_box(tab: Tab) -> None:
    table = table_of(tab, WIDE)
    box = table.locator("xpath=..")
    inner, outer = box.evaluate("box => [box.scrollWidth, box.clientWidth]")
    page = tab.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert inner > outer
    assert page[0] <= page[1]
    turns = tab.page.locator(".turns").evaluate("list => [list.scrollWidth, list.clientWidth]")
    assert turns[0] <= turns[1]
    heights = table.evaluate("table => [...table.rows].map(row => row.getBoundingClientRect().height)")
    assert max(heights) < 60  # no word is broken to save space
    box.focus()
    tab.page.keyboard.press("ArrowRight")
    tab.page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
    for cell in table.locator("th, td").all():
        tab.page.wait_for_function(CAN_BE_REACHED, arg=cell.element_handle())


def test_no_class_of_the_layout_reaches_into_markdown(tab: Tab) -> None:
    css = (resources.files("halo_weave") / "web" / "shared" / "layout.css").read_text(encoding="utf-8")
    names = sorted({*re.findall(r"\.([a-z][a-z-]*)", css), "left"} - {"quiet"})
    aligned = ["align-left", "right", "align-right", "center", "align-center"]
    row = table_of(tab, TABLE).locator("tr").last
    changed = row.evaluate(CHANGED_BY_CLASS, names + aligned)
    assert changed == {**{name: [] for name in names}, **{name: ["text-align"] for name in aligned}}
