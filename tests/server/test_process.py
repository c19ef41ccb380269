"""`halo-weave` as a person starts and ends it: a real process, its port, its signals, and what it leaves."""

import signal
import sys
from pathlib import Path

import httpx2
import pytest

from halo_weave import cli
from halo_weave.errors import SettingError
from halo_weave.server.kobold.server import listen
from halo_weave.server.running import free_listener, has_display
from support.servers.processes import ECHO, running
from support.servers.served import PATIENCE_S, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are of another kind there")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_mid_reply_ends_it_with_everything_saved(tmp_path: Path, number: int) -> None:
    """After a restart, the question and the partial answer are there."""
    arguments = ("--set", "generation.max_tokens=2000", "--no-browser", "--port", "0")
    with running(tmp_path, *arguments) as process:
        process.wait_until_ready()
        window = process.call("POST", "/api/windows", {"name": "main"})["id"]
        process.call("POST", f"/api/windows/{window}/messages", {"text": "Tell me a very long story."})
        until(lambda: len(process.call("GET", f"/api/windows/{window}")["writing"]) > 2)
        assert process.end(number) == 0
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        state = process.call("GET", f"/api/windows/{window}")
        assert [chunk["key"]["role"] for chunk in state["chunks"]][:2] == ["user", "assistant"]
        assert state["chunks"][-1]["marks"]["ending"] == "stopped"
        assert process.end() == 0


def test_a_process_that_is_killed_loses_nothing_that_was_shown(tmp_path: Path) -> None:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        window = process.call("POST", "/api/windows", {"name": "main"})["id"]
        process.call("POST", f"/api/windows/{window}/messages", {"text": "Keep this"})
        until(lambda: len(process.call("GET", f"/api/windows/{window}")["chunks"]) == 2)
        before = process.call("GET", f"/api/windows/{window}")["chunks"]
        process.popen.kill()
        process.popen.wait()
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        after = process.call("GET", f"/api/windows/{window}")["chunks"]
        assert [chunk["pieces"] for chunk in after] == [chunk["pieces"] for chunk in before]


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    with running(tmp_path, *ECHO, "--port", "0") as process:
        process.popen.send_signal(signal.SIGINT)
        process.popen.send_signal(signal.SIGINT)
        assert process.popen.wait(PATIENCE_S) in (0, 128 + signal.SIGINT)


def test_another_address_makes_a_token_and_shows_it_once(tmp_path: Path) -> None:
    arguments = (*ECHO, "--host", "0.0.0.0", "--port", "0")
    with running(tmp_path, *arguments) as process:
        assert process.token
        port = process.address.rpartition(":")[2]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert client.get("/api/status").status_code == 401
            client.get(f"/?token={process.token}")
            assert client.get("/api/status").status_code == 200
        process.end()
    with running(tmp_path, *arguments) as process:
        assert process.token is None
        assert "server-token" in process.line


def test_a_taken_port_is_passed_over_when_nobody_asked_for_it() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with free_listener("127.0.0.1", port) as free:
            assert free.getsockname()[1] > port


def test_a_taken_port_that_was_asked_for_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        try:
            code = cli.main(["serve", *ECHO, "--port", str(taken.getsockname()[1])])
        finally:
            signal.signal(signal.SIGINT, before[0])
            signal.signal(signal.SIGTERM, before[1])
    assert code == 2
    assert str(taken.getsockname()[1] if taken.fileno() >= 0 else "") in (error := capsys.readouterr().err)
    assert "choose another port" in error


def test_an_address_that_is_not_ours_is_an_error() -> None:
    with pytest.raises(SettingError, match="no-such-name"):
        free_listener("no-such-name.invalid")


def test_no_browser_without_a_display() -> None:
    assert not has_display("linux", {})
    assert has_display("linux", {"WAYLAND_DISPLAY": "wayland-0"})
    assert has_display("darwin", {})


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["--version"]])
def test_help_still_helps(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert cli.main(arguments) == 0
    assert "halo-weave" in capsys.readouterr().out


def test_flags_without_a_command_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--port", "99999"]) == 2
    assert "99999" in capsys.readouterr().err
