"""A private window of a server: nothing of it is on the disk, however the server ends."""

import signal
from pathlib import Path

import pytest

from support.servers.processes import ECHO, Process, running
from support.servers.served import served, until

SECRET = "Zanzibarium"


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def say(process: Process, window: str, text: str) -> None:
    base = f"/api/windows/{window}"
    before = process.call("GET", base)["messages"]
    process.call("POST", f"{base}/messages", {"text": text})
    until(lambda: (state := process.call("GET", base))["messages"] > before and not state["doing"])


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_of_a_private_window_is_on_the_disk_when_the_server_ends(
    tmp_path: Path, ending: signal.Signals
) -> None:
    with running(tmp_path, *ECHO, "--set", "weave.budget_tokens=80", "--port", "0") as process:
        process.wait_until_ready()
        window = process.call("POST", "/api/windows", {"kind": "private"})
        assert window["is_private"]
        assert window["recalls"]
        for number in range(3):
            say(process, window["id"], f"The {SECRET} number {number} is a secret that I told only you. " * 3)
        # The last reply is still being written when the server ends.
        process.call("POST", f"/api/windows/{window['id']}/messages", {"text": f"{SECRET}, once more. " * 40})
        assert files_with(tmp_path, SECRET) == []
        process.end(ending)
    assert files_with(tmp_path, SECRET) == []
    with running(tmp_path, *ECHO, "--port", "0") as again:
        again.wait_until_ready()
        assert again.call("GET", "/api/windows") == []
    assert files_with(tmp_path, SECRET) == []


def test_a_private_window_is_listed_and_gone_when_it_is_closed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        window = server.post("/api/windows", {"kind": "private"})["id"]
        server.say(window, SECRET)
        (entry,) = server.get("/api/windows")
        assert (entry["id"], entry["name"], entry["is_private"]) == (window, "Private window", True)
        server.post(f"/api/windows/{window}/close")
        assert server.get("/api/windows") == []
        server.call("GET", f"/api/windows/{window}", status=404)


def test_a_private_window_takes_no_name(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        answer = server.post("/api/windows", {"kind": "private", "name": "mine"}, status=400)
        assert "private window has no name" in answer["error"]
        assert server.get("/api/windows") == []


def test_a_fresh_window_starts_without_recall(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        window = server.post("/api/windows", {"kind": "fresh"})
        assert not window["recalls"]
        base = f"/api/windows/{window['id']}"
        assert server.call("PATCH", base, {"overrides": {}})["recalls"]
