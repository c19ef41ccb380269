"""`halo-weave notes`: its output, its exit codes, and what it leaves."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from halo_weave import cli
from halo_weave.memory.sqlite.store import SqliteStore


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HALO_MEMORY_PATH", str(tmp_path / "halo.db"))
    return tmp_path / "halo.db"


class Shown:
    """The output of a command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def after(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        assert cli.main(["notes", *arguments]) == code, self._capsys.readouterr().err
        shown = self._capsys.readouterr()
        return shown.out, shown.err

    def out(self, *arguments: str) -> str:
        return self.after(*arguments)[0]

    def json(self, *arguments: str) -> Any:
        return json.loads(self.out(*arguments, "--json"))


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    return Shown(capsys)


def test_notes_are_written_read_undone_and_restored(shown: Shown) -> None:
    assert shown.out("patch", '.topics.garden = "roses"') == '.topics.garden = "roses" (version 1)\n'
    assert shown.out("patch", ".") == "nothing changed (version 1)\n"
    assert shown.out("query", ".topics.garden, .reminders") == '"roses"\n[]\n'
    assert shown.json("query", ".topics[], 1.50") == ["roses", 1.5]
    assert json.loads(shown.out("show"))["topics"] == {"garden": "roses"}
    assert shown.out("undo") == ".topics.garden deleted (version 2)\n"
    assert shown.json("restore", "1") == {"version": 3, "changes": [{"path": ".topics.garden", "value": "roses"}]}
    assert shown.json("undo")["changes"] == [{"path": ".topics.garden", "is_deleted": True}]
    history = shown.out("history").splitlines()
    assert [line.split()[0] for line in history] == ["4", "3", "2", "1"]
    assert "command line" in history[0]
    assert history[-1].endswith('.topics.garden = "roses"')
    assert [one["command"] for one in shown.json("history", "--limit", "2")] == ["undo 0", "restore 1"]
    record = shown.json("show", "--version", "1")
    assert (record["version"], record["document"]["topics"]) == (1, {"garden": "roses"})


def test_a_document_from_a_file_takes_their_place(shown: Shown, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"größe": 1.10}', encoding="utf-8")
    assert shown.json("replace", str(file))["version"] == 1
    assert json.loads(shown.out("show")) == {"größe": 1.10}
    _, complaint = shown.after("replace", str(file), "--expect", "0", code=1)
    assert "at version 1, not 0" in complaint


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ('{"a": "ä"}', 0, '.a = "ä"'),
        ("Milk, ä", 0, '.text = "Milk, ä"'),
        ("[]", 2, "one JSON object"),
        ("{", 2, "not valid JSON"),
    ],
)
def test_a_document_from_standard_input_takes_their_place(path: Path, text: str, code: int, said: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "halo_weave", "notes", "replace", "-"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert (asked.returncode, asked.stderr.count("\n")) == (code, 1 if code else 0)
    assert said in asked.stdout + asked.stderr
    with closing(SqliteStore(path)) as store:
        assert store.notes().version == (0 if code else 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["patch", ".reminders"], "an array"),
        (["patch", "empty"], "no results"),
        (["patch", ".["], "jq reports"),
        (["query", "error"], "jq reports"),
        (["restore", "9"], "no version 9"),
        (["restore", "x"], "not a whole number"),
        (["undo"], "no change to the notes to undo"),
        (["replace", "missing.json"], "cannot be read"),
        (["show", "--version", "5"], "no version 5"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(shown: Shown, path: Path, arguments: list[str], said: str) -> None:
    SqliteStore(path).close()
    out, err = shown.after(*arguments, code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


@pytest.mark.parametrize("arguments", [["show"], ["query", "."], ["undo"], ["history"], ["restore", "0"]])
def test_reading_makes_no_memory(shown: Shown, path: Path, arguments: list[str]) -> None:
    _, err = shown.after(*arguments, code=1)
    assert "No memory found" in err
    assert not path.exists()
