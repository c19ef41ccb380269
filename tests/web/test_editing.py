"""Editing a question or a reply, deleting, and undoing it, on the page."""

import re

from playwright.sync_api import Browser, expect

from support.pages import new_window, visiting
from support.servers.processes import Process


def test_an_edited_question_is_answered_anew_and_the_old_one_is_superseded(
    echo_server: Process, browser: Browser
) -> None:
    window = new_window(echo_server, "edited")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("What is a zither?")
        tab.box.press("ArrowUp")
        expect(tab.box).to_have_value("What is a zither?")
        tab.box.fill("What is a lute?")
        tab.box.press("Enter")
        expect(tab.turns.filter(has_text="You said: What is a lute?")).to_be_visible()
        tab.idle()
        expect(tab.box).to_have_value("")
        assert "What is a zither?" not in tab.words()
        expect(tab.graves.filter(has_text="zither").locator(".tag").first).to_have_text("superseded")


def test_an_edit_that_is_left_changes_nothing(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "left")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("What is a viola?")
        tab.do(tab.turn(0), "Edit")
        tab.box.press("Escape")
        expect(tab.box).to_have_value("")
        tab.say("And a cello?")
        assert tab.words()[0] == "What is a viola?"


def test_an_edited_reply_takes_the_place_of_the_earlier_one_in_all_tabs(echo_server: Process, browser: Browser) -> None:
    """The typed text is there again, the model continues from the edit, and older replies have no Edit."""
    window = new_window(echo_server, "edited reply")
    with visiting(browser, echo_server.address) as visitor:
        tab, other = visitor.open(window), visitor.open(window)
        tab.say("What is a shawm?")
        tab.say("What is a lyre?")
        expect(tab.control(tab.turn(1), "Edit")).to_have_count(0)
        tab.box.fill("Not sent yet")
        tab.do(tab.turn(3), "Edit")
        expect(tab.box).to_have_value("You said: What is a lyre?")
        tab.box.fill("A lyre has strings, and")
        tab.page.get_by_role("button", name="Replace", exact=True).click()
        expect(tab.box).to_have_value("Not sent yet")
        for each in (tab, other):
            expect(each.turn(3).locator(".badge.edited")).to_be_visible()
            assert each.words()[2:] == ["What is a lyre?", "A lyre has strings, and"]
        expect(tab.graves.filter(has_text="You said: What is a lyre?").locator(".tag").first).to_have_text("superseded")
        tab.do(tab.turn(3), "Continue")
        expect(tab.turn(3).locator(".chunk")).to_have_count(2)
        tab.idle()
        tab.page.reload()
        expect(tab.turns).to_have_count(4)
        assert tab.words()[3] == "A lyre has strings, and" + "You said: What is a lyre?"


def test_a_deleted_question_takes_its_answer_along_and_undo_brings_both_back(
    echo_server: Process, browser: Browser
) -> None:
    window = new_window(echo_server, "deleted")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("One")
        tab.say("Two")
        before = tab.words()
        tab.do(tab.chunks.first, "Delete")
        expect(tab.turns).to_have_count(2)
        tab.toasts.get_by_role("button", name="Undo").click()
        expect(tab.turns).to_have_count(4)
        assert tab.words() == before


def test_deleting_the_newest_answer_hands_its_question_back(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "handed back")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("A question to think about again")
        tab.do(tab.chunks.last, "Delete")
        expect(tab.box).to_have_value("A question to think about again")


def test_a_pin_and_a_draft_survive_a_reload(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "pinned")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("Keep me")
        tab.do(tab.chunks.first, "Pin")
        expect(tab.chunks.first).to_have_class(re.compile("pinned"))
        tab.box.fill("Not sent yet")
        tab.page.reload()
        expect(tab.chunks.first).to_have_class(re.compile("pinned"))
        expect(tab.box).to_have_value("Not sent yet")
        expect(tab.page.locator("halo-meter .cause.pinned")).to_be_visible()


PARAGRAPHS = "\n\n".join(
    f"Paragraph {number}. " + f"The {number}th bell rings over the roofs. " * 12 for number in range(3)
)


def test_delete_asks_for_what_was_pointed_at_and_says_what_went(echo_server: Process, browser: Browser) -> None:
    """A passage in the middle of an earlier reply is deleted alone; a question takes its answer along."""
    window = new_window(echo_server, "pointed at")
    asked: list[str] = []
    with visiting(browser, echo_server.address) as visitor:
        visitor.context.on("request", lambda one: asked.append(one.url) if one.url.endswith("/delete") else None)
        tab = visitor.open(window)
        tab.say(PARAGRAPHS)
        tab.say("And now?")
        passages = tab.chunks.count()
        passage, question = tab.turn(1).locator(".chunk").nth(1), tab.turn(0).locator(".chunk").first
        key = passage.get_attribute("data-key")
        expect(tab.control(passage, "Delete")).to_have_attribute("title", re.compile("^Delete this passage "))
        expect(tab.control(question, "Delete")).to_have_attribute("title", re.compile("^Delete this question and its "))
        tab.do(passage, "Delete")
        expect(tab.toasts).to_contain_text("Deleted 1 passage.")
        expect(tab.chunks).to_have_count(passages - 1)
        assert [url.split("/")[-2] for url in asked] == [key]
        tab.toasts.get_by_role("button", name="Dismiss").click()
        tab.do(question, "Delete")
        expect(tab.toasts).to_contain_text(f"Deleted the question and its answer ({passages - 3} passages).")
        expect(tab.turns).to_have_count(2)


def test_a_whole_reply_can_be_deleted_and_the_newest_hands_its_question_back(
    echo_server: Process, browser: Browser
) -> None:
    window = new_window(echo_server, "whole reply")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("What was first?")
        tab.say(PARAGRAPHS)
        reply = tab.turn(3).locator("header")
        reply.hover()
        reply.get_by_role("button", name=re.compile("^Delete: Delete this reply and its question")).click()
        expect(tab.toasts).to_contain_text("Deleted the question and its answer")
        expect(tab.turns).to_have_count(2)
        expect(tab.box).to_have_value(PARAGRAPHS)


def test_what_is_undeleted_in_the_memory_alone_is_reported_and_can_be_resurrected(
    echo_server: Process, browser: Browser
) -> None:
    """A window that was closed in the meantime no longer knows the chunk's living state."""
    window = new_window(echo_server, "undeleted")
    with visiting(browser, echo_server.address) as visitor:
        tab = visitor.open(window)
        tab.say("What is a hurdy-gurdy?")
        tab.say("And now?")
        tab.do(tab.chunks.first, "Delete")
        expect(tab.turns).to_have_count(2)
        echo_server.call("POST", f"/api/windows/{window}/close")
        tab.toasts.get_by_role("button", name="Reopen").click()
        grave = tab.graves.filter(has_text="What is a hurdy-gurdy?").last
        grave.get_by_role("button", name=re.compile("^Undelete")).click()
        expect(grave.get_by_role("button", name=re.compile("^Undelete: You"))).to_have_count(0)
        told = tab.toasts.filter(has_text="Restored to the memory, but not to the context of this window")
        told.get_by_role("button", name="Resurrect").click()
        expect(tab.chunks.filter(has_text="What is a hurdy-gurdy?").first).to_be_in_viewport()


def test_an_undeletion_that_is_refused_says_why(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "refused")
    sentence = "A newer version of this message is in the context."
    with visiting(browser, echo_server.address) as visitor:
        visitor.forgive("status of 409")
        visitor.context.route("**/undelete", lambda route: route.fulfill(status=409, json={"error": sentence}))
        tab = visitor.open(window)
        tab.say("What is a bagpipe?")
        tab.box.press("ArrowUp")
        tab.say("What is a recorder?")
        tab.graves.get_by_role("button", name=re.compile("^Undelete: You")).click()
        expect(tab.toasts).to_contain_text(sentence)
        expect(tab.graves.get_by_role("button", name=re.compile("^Undelete: You"))).to_be_enabled()
