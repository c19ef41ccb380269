"""Several tabs on one window, several windows on one memory, and a server that disappears under the page."""

import json
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, WebSocketRoute, expect

from support.pages import SERVER_IS_AWAY, Tab, new_window, visiting
from support.servers.processes import ECHO, Process, running

# Statements, and the questions of someone who has forgotten them.
FACTS = {
    "The gardener Ottoline keeps the copper key of the orangery under the third blue tile.": (
        "Where did our gardener hide what opens the orangery?"
    ),
    "The pilot Bartholomew keeps eleven maps of the northern glaciers in a tin box.": (
        "How many maps does that pilot own, and where are they?"
    ),
    "The baker Philippa keeps her sourdough warm behind the old ceramic stove.": (
        "In which place does Philippa let her dough rise?"
    ),
    "The watchmaker Anselm keeps a broken chronometer from a sunken frigate.": (
        "From what ship is the clock that the watchmaker never mended?"
    ),
    "The teacher Rosalind keeps chalk drawings of comets on the attic wall.": (
        "What did Rosalind draw up there with her chalk?"
    ),
    "The cellist Tobias keeps his spare strings in an empty jar of honey.": (
        "Where can I find new strings for the cello of Tobias?"
    ),
}


def test_two_tabs_on_one_window_see_the_same_live(echo_server: Process, browser: Browser) -> None:
    window = new_window(echo_server, "shared")
    with visiting(browser, echo_server.address) as visitor:
        one, other = visitor.open(window), visitor.open(window)
        one.say("Hello from the first tab")
        expect(other.turns).to_have_count(2)
        other.say("Hello from the second tab")
        expect(one.turns).to_have_count(4)
        one.do(one.chunks.first, "Pin")
        expect(other.chunks.first).to_have_class(re.compile("pinned"))
        echo_server.call("PATCH", f"/api/windows/{window}", {"name": "shared by both"})
        for tab in (one, other):
            expect(tab.page.locator("#window-name")).to_have_text("shared by both")
            expect(tab.page).to_have_title(re.compile("^shared by both"))
        assert one.words() == other.words()


def test_a_window_closed_in_one_tab_is_not_opened_again_by_the_other(echo_server: Process, browser: Browser) -> None:
    kept = new_window(echo_server, "kept")
    window = new_window(echo_server, "to be closed")
    with visiting(browser, echo_server.address) as visitor:
        one, other = visitor.open(window), visitor.open(window)
        one.page.get_by_role("button", name="Actions for to be closed").click()
        one.page.get_by_role("button", name="Close", exact=True).click()
        expect(other.toasts).to_contain_text("the window was closed")
        other.page.wait_for_timeout(1000)
        entries = {entry["id"]: entry["is_open"] for entry in echo_server.call("GET", "/api/windows")}
        assert not entries[window]
        assert kept in entries
        other.toasts.get_by_role("button", name="Reopen").click()
        expect(other.page.locator("#window-name")).to_have_text("to be closed")
        other.say("Here again")
        expect(one.toasts).to_have_count(0)


def test_what_one_window_buried_another_brings_back(model_server: Process, browser: Browser) -> None:
    """With the bundled model: exactly the original words return."""
    small = {
        "weave.budget_tokens": 120,
        "weave.keeps_by": "brightness",
        "weave.resurrection": False,
        "generation.max_tokens": 16,
    }
    telling = new_window(model_server, "telling", **small)
    asking = new_window(model_server, "asking", **{"generation.max_tokens": 16})
    with visiting(browser, model_server.address) as visitor:
        tab = visitor.open(telling)
        for fact in FACTS:
            tab.say(fact)
        buried = next(fact for fact in FACTS if fact in tab.out_of_context())
        expect(tab.graves.filter(has_text=buried).first).to_be_visible()
        other = visitor.open(asking)
        other.say(FACTS[buried])
        expect(other.page.locator("details.card").filter(has_text=buried)).to_contain_text("from telling")
        assert buried in other.words()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_and_is_started_again_loses_nothing(
    tmp_path: Path, browser: Browser, ending: signal.Signals
) -> None:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        port = process.address.rpartition(":")[2]
        with visiting(browser, process.address) as visitor:
            visitor.forgive(SERVER_IS_AWAY)
            tab = visitor.open()
            tab.say("Said before the end")
            tab.box.fill("Typed before the end")
            process.end(ending)
            expect(tab.page.locator("#engine-text")).to_have_text("the server is not responding")
            tab.box.press("Enter")
            expect(tab.toasts).to_contain_text("The server is not responding")
            expect(tab.box).to_have_value("Typed before the end")
            with running(tmp_path, *ECHO, "--port", port) as again:
                expect(tab.page.locator("#engine")).to_have_attribute("data-state", "ready")
                expect(tab.turns).to_have_count(2)
                expect(tab.box).to_have_value("Typed before the end")
                tab.box.press("Enter")
                expect(tab.turns).to_have_count(4)
                tab.idle()
                expect(tab.box).to_have_value("")
                assert tab.words()[0::2] == ["Said before the end", "Typed before the end"]
                assert again.end(signal.SIGTERM) == 0


def test_the_page_says_ready_only_when_it_has_heard_of_its_window_again(tmp_path: Path, browser: Browser) -> None:
    """The window's events are held back: until they arrive, a message would be refused."""
    held: list[WebSocketRoute] = []
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        port = process.address.rpartition(":")[2]
        with visiting(browser, process.address) as visitor:
            visitor.forgive(SERVER_IS_AWAY)
            visitor.forgive("status of 409")
            tab = visitor.open()
            tab.say("Said before the end")
            # Applies to the next connection; the page already has one.
            tab.page.route_web_socket(re.compile("/api/windows/.*/events"), lambda socket: held.append(socket))
            process.end(signal.SIGKILL)
            expect(tab.page.locator("#engine-text")).to_have_text("the server is not responding")
            with running(tmp_path, *ECHO, "--port", port):
                expect(tab.page.locator("#engine-text")).to_have_text("reconnecting to this window")
                tab.send("Typed too early")
                expect(tab.toasts).to_contain_text("try again when it has caught up")
                expect(tab.box).to_have_value("Typed too early")
                held[-1].connect_to_server()
                expect(tab.page.locator("#engine")).to_have_attribute("data-state", "ready")
                tab.box.press("Enter")
                expect(tab.turns).to_have_count(4)


def test_a_tab_that_missed_nothing_is_ready_as_soon_as_it_is_connected_again(
    echo_server: Process, browser: Browser
) -> None:
    """The server then has nothing to send, and says so."""
    window = new_window(echo_server, "missed nothing")
    sockets: list[WebSocketRoute] = []

    def pass_on(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    with visiting(browser, echo_server.address) as visitor:
        visitor.context.route_web_socket(re.compile("/api/windows/.*/events"), pass_on)
        tab = visitor.open(window)
        tab.say("Before")
        sockets[0].close(code=4999)
        expect(tab.page.locator("#engine")).to_have_attribute("data-state", "away")
        expect(tab.page.locator("#engine")).to_have_attribute("data-state", "ready")
        tab.say("After")
        expect(tab.turns).to_have_count(4)


def test_a_message_sent_before_the_page_knows_that_the_turn_is_over_is_queued_and_not_refused(
    echo_server: Process, browser: Browser
) -> None:
    """After the reply the context is pruned and saved, and a message would be refused; the end is held back here."""
    window = new_window(echo_server, "not over")

    def hold_back_the_end(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda told: socket.send(without_end(str(told))))

    def without_end(told: str) -> str:
        news = json.loads(told)
        events = news.get("events", ())
        kept = [event for event in events if event["kind"] != "status" or event["data"]["text"]]
        return told if len(kept) == len(events) else json.dumps({**news, "events": kept})

    with visiting(browser, echo_server.address) as visitor:
        visitor.context.route_web_socket(re.compile("/api/windows/.*/events"), hold_back_the_end)
        tab = visitor.open(window)
        tab.send("Before")
        expect(tab.turns).to_have_count(2)
        expect(tab.writing).to_be_hidden()
        expect(tab.page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        tab.send("After")
        expect(tab.box).to_have_value("")
        expect(tab.turns).to_have_count(4)
        assert tab.words()[0::2] == ["Before", "After"]


def test_what_is_typed_before_there_is_a_window_stays_in_the_box(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        with visiting(browser, process.address) as visitor:
            held: list[Route] = []
            is_holding = True
            visitor.context.route(
                "**/api/windows", lambda route: held.append(route) if is_holding else route.continue_()
            )
            page = visitor.context.new_page()
            page.goto(process.address)
            tab = Tab(page)
            tab.send("Typed at once")
            expect(tab.toasts).to_contain_text("still opening")
            is_holding = False
            for route in held:
                route.continue_()
            tab.ready()
            expect(tab.box).to_have_value("Typed at once")
            tab.box.press("Enter")
            expect(tab.turns).to_have_count(2)


def test_an_answer_that_breaks_off_is_no_answer(echo_server: Process, browser: Browser) -> None:
    """As from a server killed while it answers: the words stay plain, and the page continues."""
    window = new_window(echo_server, "broken off")
    with visiting(browser, echo_server.address) as visitor:
        half = '{"html": ["<p>Sai'
        visitor.context.route("**/api/render", lambda route: route.fulfill(body=half, content_type="application/json"))
        tab = visitor.open(window)
        with tab.page.expect_response("**/api/render"):
            tab.say("Said *plainly*")
        expect(tab.turns.first).to_contain_text("Said *plainly*")
        tab.say("And again")
        expect(tab.turns).to_have_count(4)


def test_the_page_may_be_opened_before_the_model_is_there(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, "--no-browser", "--port", "0") as process, visiting(browser, process.address) as visitor:
        tab: Tab = visitor.open()
        expect(tab.page.get_by_text("The bundled model is very small")).to_be_visible()
        expect(tab.page.locator("#engine")).to_have_attribute("data-state", "ready")
