"""Copying works on pages loaded over plain HTTP from another machine, where browsers offer no clipboard."""

from playwright.sync_api import Browser, expect

from support.pages import Tab, Visitor, new_window, visiting
from support.servers.processes import Process

NO_CLIPBOARD = "Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })"
NO_COPYING = "document.execCommand = () => false"
CODE = "```python\nprint('plum')\n```"


def window_with_code(server: Process, visitor: Visitor, name: str) -> Tab:
    tab = visitor.open(new_window(server, name))
    tab.say(CODE)
    expect(tab.turn(0).locator(".rendered pre")).to_be_visible()
    return tab


def copy_code(tab: Tab) -> None:
    tab.turn(0).locator(".rendered pre").hover()
    tab.turn(0).locator(".code-block").get_by_role("button", name="Copy").click()


def test_without_a_clipboard_the_page_copies_by_selecting(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        visitor.context.add_init_script(NO_CLIPBOARD)
        tab = window_with_code(echo_server, visitor, "copied")
        tab.do(tab.turn(0).locator("header"), "Copy")
        expect(tab.toasts).to_contain_text("Copied")
        tab.box.press("Control+v")
        expect(tab.box).to_have_value(CODE)
        copy_code(tab)
        expect(tab.turn(0).locator(".code-block").get_by_role("button", name="Copied")).to_be_focused()
        tab.box.fill("")
        tab.box.press("Control+v")
        expect(tab.box).to_have_value("print('plum')\n")


def test_the_page_says_that_it_could_not_copy(echo_server: Process, browser: Browser) -> None:
    with visiting(browser, echo_server.address) as visitor:
        visitor.context.add_init_script(f"{NO_CLIPBOARD}; {NO_COPYING}")
        tab = window_with_code(echo_server, visitor, "not copied")
        tab.do(tab.turn(0).locator("header"), "Copy")
        expect(tab.toasts).to_have_count(1)
        copy_code(tab)
        expect(tab.toasts).to_have_text(
            ["The browser does not allow copying here. Select the text and press Ctrl+C.×"] * 2
        )
        expect(tab.turn(0).get_by_role("button", name="Copied")).to_have_count(0)
