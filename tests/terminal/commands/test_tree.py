"""`halo-weave tree`: its output, its exit codes, and what it leaves."""

import io
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from halo_weave import cli
from halo_weave.memory.memory import open_memory
from support.conversations import written

CATS = ("what do cats like to eat", "cats like fish most of all\x1b[31m")


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "halo.db"
    monkeypatch.setenv("HALO_MEMORY_PATH", str(path))
    return path


class Tree:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert cli.main(["tree", *arguments]) == code
        shown = self._capsys.readouterr()
        return shown.err if code else shown.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def tree(capsys: pytest.CaptureFixture[str]) -> Tree:
    return Tree(capsys)


def test_what_was_saved_is_listed_shown_found_and_told(tree: Tree, path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, CATS))
    assert "Saved Facts/Cats as version 1, with 2 chunks of the conversation (12 tokens)." in tree(
        "save", " Facts / Cats", '{"food": "fish"}'
    )
    assert tree.json("save", "Facts", "true", "--context-tokens", "0") == {
        "path": "Facts",
        "version": 1,
        "snapshot_tokens": 0,
        "chunks": 0,
    }
    listed = tree("list").splitlines()
    assert listed == ["Facts/  (version 1) true", '  Cats  (version 1) {"food":"fish"}']
    node = tree.json("list", "Facts")
    assert (node["entry"]["beginning"], node["children"][0]["path"]) == ("true", "Facts/Cats")
    shown = tree("show", "Facts/Cats")
    assert '"food": "fish"' in shown
    assert "cats like fish most of all" in shown
    entry = tree.json("show", "Facts/Cats")
    assert entry["content"] == {"food": "fish"}
    assert {chunk["turn"] for chunk in entry["snapshot"]} == {"1", "2"}
    assert set(entry["snapshot"][0]) == {
        "turn", "index", "role", "position", "tokens", "time", "text", "similarity", "embedder"
    }  # fmt: skip
    (found,) = tree.json("search", "Facts", "what cats eat", "--recency-bias", "0")
    assert found["score"] == found["similarity"] == found["chunks"][0]["similarity"] > 0.5
    assert "Facts/Cats" in tree("search", "", "what cats eat").splitlines()[0]


def test_content_may_be_plain_text(tree: Tree) -> None:
    tree("save", "Plans/Summer", "two weeks in Ghent, by train")
    assert tree.json("show", "Plans/Summer")["content"] == "two weeks in Ghent, by train"
    tree("save", "Plans/Summer", '{"weeks": 2}')
    assert tree.json("show", "Plans/Summer")["content"] == {"weeks": 2}
    tree("save", "Plans/Summer", '{"weeks": 2}', "--text")
    assert tree.json("show", "Plans/Summer")["content"] == '{"weeks": 2}'


def test_versions_are_listed_restored_and_brought_back(tree: Tree) -> None:
    tree("save", "a", "1")
    tree("save", "a", "two words", "--text", "--expect", "1")
    assert "at version 2, not 1" in tree("save", "a", "3", "--expect", "1", code=1)
    assert tree.json("show", "a", "--version", "1")["content"] == 1
    assert tree.json("restore", "a", "1")["version"] == 3
    assert tree("delete", "a") == "a\n"
    assert [(one["version"], one["is_deletion"]) for one in tree.json("history", "a")] == [
        (4, True),
        (3, False),
        (2, False),
        (1, False),
    ]
    assert "deleted · by command line" in tree("history", "a").splitlines()[0]
    assert tree.json("undelete", "a") == {"undeleted": ["a"]}
    assert tree.json("show", "a")["version"] == 5


def test_a_whole_branch_is_deleted_and_brought_back(tree: Tree) -> None:
    for name in ("Goals/a", "Goals/b/c", "Goals2"):
        tree("save", name, "1")
    assert tree.json("delete", "Goals", "--recursive") == {"deleted": ["Goals/a", "Goals/b/c"]}
    assert tree("list") == "Goals2  (version 1) 1\n"
    assert tree("undelete", "Goals/a", "Goals/b/c") == "2 entries restored.\n"


def test_content_is_read_from_standard_input(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('["from", "a pipe"]'))
    tree("save", "a", "-")
    assert tree.json("show", "a")["content"] == ["from", "a pipe"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("save", "a", "{"), "The content is not valid JSON"),
        (("save", "a//b", "1"), "an empty heading"),
        (("save", "/a", "1"), "begins or ends with a slash"),
        (("save", "a", "1", "--context-tokens", "-1"), "'-1' is not a whole number"),
        (("save", "a", '"' + "x" * 70_000 + '"'), "70,002 bytes as JSON; the limit is 65,536"),
        (("show", "nothing"), "The memory tree has nothing at 'nothing'."),
        (("search", "", "x", "--recency-bias", "2"), "'2' is not a number from 0 to 1"),
        (("restore", "there", "9"), "Version 9 of the memory at 'there' does not exist"),
        (("undelete", "nothing"), "There has never been a memory at 'nothing'"),
        (("delete", "nothing", "--recursive"), "The memory tree has nothing at 'nothing'."),
        (("history", "nothing"), "The memory tree has nothing at 'nothing'."),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(tree: Tree, arguments: tuple[str, ...], words: str) -> None:
    tree("save", "there", "1")
    complaint = tree(*arguments, code=2)
    assert words in complaint
    assert len(complaint.splitlines()) == 1
    assert tree("list") == "there  (version 1) 1\n"


def test_without_a_memory_there_is_no_tree(tree: Tree, path: Path) -> None:
    assert "No memory found at" in tree("list", code=1)
    assert not path.exists()
