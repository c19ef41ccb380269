"""The page and the terminal on one window, in two real processes: what one says appears in the other by itself."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.pages import visiting
from support.servers.processes import ECHO, Process, running
from support.terminals import PATIENCE_S, chat_command, chat_terminal, environment

SET = ("--set", "engine.kind=echo", "--set", "reader.kind=off")


@pytest.fixture
def page_server(tmp_path: Path) -> Iterator[Process]:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        process.call("POST", "/api/windows", {"name": "main"})
        yield process


def said_in_a_pipe(home: Path, message: str, *settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        chat_command(*SET, *settings),
        input=f"{message}\n",
        env=environment(home),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
    )


def test_what_the_terminal_says_appears_on_the_page_and_the_page_goes_on(
    page_server: Process, browser: Browser, tmp_path: Path
) -> None:
    with visiting(browser, page_server.address) as visitor:
        tab = visitor.open()
        tab.say("From the page.")
        assert said_in_a_pipe(tmp_path, "From the terminal.").returncode == 0
        expect(tab.turns).to_have_count(4)
        expect(tab.turn(2)).to_contain_text("From the terminal.")
        tab.say("From the page again.")
        expect(tab.turns).to_have_count(6)
        expect(tab.toasts).to_have_count(0)


def test_what_the_page_says_appears_in_the_terminal_and_the_terminal_goes_on(
    page_server: Process, tmp_path: Path
) -> None:
    window = page_server.call("GET", "/api/windows")[0]["id"]
    with chat_terminal(tmp_path, *SET) as terminal:
        page_server.call("POST", f"/api/windows/{window}/messages", {"text": "From the page."})
        terminal.wait_for(r"\(in another program\) > From the page\..*You said: From the page\.")
        after = len(terminal.shown)
        terminal.press("From the terminal.\r")
        terminal.wait_for("You said: From the terminal.", after=after)
        assert "try again" not in terminal.shown


def test_both_may_speak_at_the_same_time(tmp_path: Path, browser: Browser) -> None:
    """The page's reply is long; the terminal's whole exchange happens while it is written."""
    roomy = ("--set", "generation.max_tokens=2000", "--set", "engine.context_tokens=16384")
    long_message = "word " * 500
    with running(tmp_path, *ECHO, *roomy, "--port", "0") as process, visiting(browser, process.address) as visitor:
        process.wait_until_ready()
        process.call("POST", "/api/windows", {"name": "main"})
        tab = visitor.open()
        tab.send(long_message)
        done = said_in_a_pipe(tmp_path, "From the terminal.", *roomy)
        assert done.returncode == 0
        assert "program" not in done.stderr
        tab.idle()
        expect(tab.turns).to_have_count(4)
        assert any("From the terminal." in words for words in tab.words())
        expect(tab.toasts).to_have_count(0)
