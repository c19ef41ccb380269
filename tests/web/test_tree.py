"""The memory tree on the page: saved, edited, compared, restored, deleted, undeleted; hostile text stays text."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, new_window, visiting
from support.servers.processes import Process
from web.test_looks import serious

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    "user\u202egnp.exe\u2066 \u200f",
    "</textarea><script>window.hacked = 3</script>",
]
BIG = 2**70


def save(server: Process, path: str, content: Any, **more: Any) -> Any:
    return server.call("PUT", "/api/tree/entry", {"path": path, "content": content, **more})


def opened(tab: Tab) -> Locator:
    """Open the tree with its keyboard shortcut."""
    tab.page.locator("h1").click()
    tab.page.keyboard.press("m")
    expect(tab.dialog).to_be_visible()
    expect(tab.dialog.get_by_role("heading", name="Memory tree")).to_be_visible()
    return tab.dialog.locator("halo-tree")


def entry(tree: Locator, name: str | re.Pattern[str]) -> Locator:
    tree.locator(".tree-list").get_by_role("button", name=name, exact=True).click()
    shown = tree.locator("halo-tree-entry")
    expect(shown.get_by_label("Content")).not_to_have_value("")
    return shown


def test_an_entry_is_made_edited_compared_and_restored(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "tree editing"))
        tree = opened(tab)
        tree.get_by_role("button", name="New entry").click()
        tree.get_by_label("Path").fill("Edited / Plan")
        editor = tree.get_by_label("Content")
        editor.fill('{"goal": ')
        expect(tree.get_by_text("This is not valid JSON yet")).to_be_visible()
        expect(tree.get_by_role("button", name="Save", exact=True)).to_be_disabled()
        editor.fill(f'{{"goal": "first", "big": {BIG}}}')
        tree.get_by_role("button", name="Save", exact=True).click()
        shown = entry(tree, "Plan")
        expect(shown.locator("h3")).to_have_text("Edited/Plan")
        editor = shown.get_by_label("Content")
        expect(editor).to_have_value(f'{{\n  "goal": "first",\n  "big": {BIG}\n}}')
        editor.fill(f'{{"goal": "second", "big": {BIG}}}')
        shown.get_by_role("button", name="Save", exact=True).click()
        expect(shown.get_by_text(re.compile("^version 2 · "))).to_be_visible()
        shown.get_by_text("Versions").click()
        shown.get_by_role("button", name="Compare with version 1").click()
        expect(shown.locator(".diff del")).to_have_text('-   "goal": "first",')
        expect(shown.locator(".diff ins")).to_have_text('+   "goal": "second",')
        shown.get_by_role("button", name="Restore version 1").click()
        expect(shown.get_by_text(re.compile("^version 3 · "))).to_be_visible()
        expect(editor).to_have_value(re.compile("first"))
    restored = echo_server.call("GET", "/api/tree/entry?path=Edited/Plan")
    assert restored["content"] == {"goal": "first", "big": BIG}


def test_a_deletion_can_be_undone_and_a_branch_goes_as_a_whole(echo_server: Process, browser: Browser) -> None:
    for path in ("Gone/One", "Gone/Two/Three", "Gone2"):
        save(echo_server, path, path)
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "tree deleting"))
        tree = opened(tab)
        names = tree.locator(".tree-list")
        entry(tree, "One").get_by_role("button", name="Delete", exact=True).click()
        expect(names.get_by_role("button", name="One", exact=True)).to_have_count(0)
        tab.toasts.get_by_role("button", name="Undo").click()
        expect(names.get_by_role("button", name="One", exact=True)).to_be_visible()
        expect(tree.get_by_role("button", name="Delete with all subentries")).to_have_count(0)
        names.get_by_text("Gone", exact=True).hover()
        names.get_by_role("button", name="Delete everything under Gone", exact=True).click()
        expect(names.get_by_text("Three", exact=True)).to_have_count(0)
        expect(names.get_by_role("button", name="Gone2", exact=True)).to_be_visible()
        tab.toasts.get_by_role("button", name="Undo").last.click()
        expect(names.get_by_text("Three", exact=True)).to_be_visible()
        names.get_by_role("button", name="Collapse Gone/Two", exact=True).click()
        expect(names.get_by_text("Three", exact=True)).to_have_count(0)


def test_what_somebody_else_saved_meanwhile_is_not_overwritten_unasked(echo_server: Process, browser: Browser) -> None:
    save(echo_server, "Shared", "mine")
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 409")
        tab = visitor.open(new_window(echo_server, "tree conflict"))
        shown = entry(opened(tab), "Shared")
        save(echo_server, "Shared", "theirs")
        shown.get_by_label("Content").fill('"mine again"')
        shown.get_by_role("button", name="Save", exact=True).click()
        expect(shown.get_by_text("is at version 2, not 1")).to_be_visible()
        assert echo_server.call("GET", "/api/tree/entry?path=Shared")["content"] == "theirs"
        shown.get_by_role("button", name="Overwrite with mine").click()
        expect(shown.get_by_text(re.compile("^version 3 · "))).to_be_visible()
    assert echo_server.call("GET", "/api/tree/entry?path=Shared")["content"] == "mine again"


def test_what_was_said_about_it_is_shown_and_found(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "tree snapshot"))
        tab.say("The harpsichord stands in the attic.")
        save(echo_server, "House/Harpsichord", "where the harpsichord is")
        tree = opened(tab)
        tree.get_by_label("Search the memory tree").fill("music instrument")
        expect(tree.locator("ol .item").first).to_be_visible()
        shown = entry(tree, re.compile("^House.Harpsichord"))
        shown.get_by_text("Related passages").click()
        expect(shown.get_by_text("The harpsichord stands in the attic.").first).to_be_visible()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_nothing_serious_stands_in_the_way_of_anybody(echo_server: Process, browser: Browser, theme: str) -> None:
    save(echo_server, "Open/To all", "now")
    for content in ("first", "second"):
        save(echo_server, "Open/To all", content)
    save(echo_server, "Open/To all/Below", "now")
    with visiting(browser, echo_server.address, color_scheme=theme, bypass_csp=True) as visitor:
        tab = visitor.open(new_window(echo_server, f"tree {theme}"))
        tree = opened(tab)
        shown = entry(tree, "To all")
        shown.get_by_text("Versions").click()
        shown.get_by_role("button", name="Compare with version 1").click()
        expect(shown.locator(".diff")).to_be_visible()
        assert serious(tab.page) == []
        tree.get_by_role("button", name="New entry").click()
        assert serious(tab.page) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(echo_server: Process, browser: Browser, text: str) -> None:
    path = f"Hostile/{text.replace('/', '∕')}"
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, f"tree hostile {HOSTILE.index(text)}"))
        tab.say(text)
        for content in ({text: [text]}, {text: text}):
            save(echo_server, path, content, context_tokens=1000)
        tree = opened(tab)
        shown = entry(tree, path.rpartition("/")[2])
        expect(shown.locator("h3")).to_have_text(path)
        assert text in shown.get_by_label("Content").input_value().replace('\\"', '"')
        shown.get_by_text("Related passages").click()
        expect(shown.locator(".grave-text").filter(has_text=text.strip()).first).to_be_visible()
        shown.get_by_text("Versions").click()
        shown.get_by_role("button", name="Compare with version 1").click()
        expect(shown.locator(".diff")).to_be_visible()
        assert tab.page.evaluate("window.hacked ?? null") is None
        assert tab.page.locator("halo-tree :is(script, img, iframe, svg, a)").count() == 0
    echo_server.call("POST", "/api/tree/delete", {"path": path})


def test_an_entry_may_be_plain_text_and_stays_so(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(new_window(echo_server, "plain tree"))
        tree = opened(tab)
        tree.get_by_role("button", name="New entry").click()
        tree.get_by_label("Path").fill("Plain / Summer")
        tree.get_by_label("Content").fill("Two weeks in Ghent.")
        tree.get_by_role("button", name="Save", exact=True).click()
        shown = entry(tree, "Summer")
        expect(shown.get_by_label("Content")).to_have_value("Two weeks in Ghent.")
        content = echo_server.call("GET", "/api/tree/entry?path=Plain/Summer")["content"]
        assert content == "Two weeks in Ghent."
