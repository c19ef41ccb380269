"""A message can be sent while a reply is written: it waits where it can be seen, changed and withdrawn."""

from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from support.pages import Tab, visiting
from support.servers.served import served
from support.waiting_engine import WaitingEngine


def waiting(tab: Tab) -> Locator:
    return tab.page.locator(".waiting")


def stop(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Stop", exact=True).click()


def test_messages_wait_for_the_reply_to_end_and_go_out_in_their_order(tmp_path: Path, browser: Browser) -> None:
    """A reply of this engine ends when it is stopped."""
    with served(tmp_path, open_engine=lambda _: WaitingEngine()) as server:
        window = server.new_window("queue")
        with visiting(browser, server.address) as visitor:
            tab, other = visitor.open(window), visitor.open(window)
            tab.send("The first question")
            expect(tab.turns).to_have_count(1)
            for text in ("The second question", "The third question", "Never mind this"):
                tab.send(text)
                expect(tab.box).to_have_value("")
            expect(waiting(tab)).to_have_count(3)
            expect(waiting(other)).to_have_count(3)
            waiting(tab).nth(2).get_by_role("button", name="Withdraw").click()
            waiting(tab).nth(1).get_by_role("button", name="Edit").click()
            tab.page.get_by_label("Waiting message", exact=True).fill("The third question, changed")
            tab.page.keyboard.press("Enter")
            expect(waiting(other).locator("p")).to_have_text(["The second question", "The third question, changed"])
            tab.page.reload()
            tab.ready()
            expect(waiting(tab)).to_have_count(2)
            stop(tab)
            expect(tab.turns).to_have_count(3)
            expect(waiting(tab).locator("p")).to_have_text(["The third question, changed"])
            stop(tab)
            expect(waiting(tab)).to_have_count(0)
            expect(tab.turns).to_have_count(5)
            stop(tab)
            tab.idle()
            assert tab.words()[0::2] == ["The first question", "The second question", "The third question, changed"]
