"""The memory tree over HTTP, as /openapi.json describes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers.served import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


def save(server: Served, path: str, content: Any, **more: Any) -> Any:
    return server.call("PUT", "/api/tree/entry", {"path": path, "content": content, **more})


def test_a_tree_is_saved_listed_searched_changed_and_brought_back(server: Served) -> None:
    server.say(server.new_window(), "Pelicans eat fish")
    server.program.memory.settle()
    saved = save(server, " Facts / Pelicans", {"food": "fish", "big": 2**70})
    assert (saved["path"], saved["version"]) == ("Facts/Pelicans", 1)
    assert saved["chunks"] > 0
    save(server, "Facts", None, context_tokens=0)
    top = server.get("/api/tree")
    assert (top["path"], top["entry"]) == ("", None)
    (facts,) = top["children"]
    assert (facts["entry"]["beginning"], facts["children"][0]["path"]) == ("null", "Facts/Pelicans")
    assert server.get("/api/tree?root=Facts%2FPelicans")["entry"]["version"] == 1
    entry = server.get("/api/tree/entry?path=Facts%2FPelicans")
    assert entry["content"] == {"food": "fish", "big": 2**70}
    assert entry["document"] == f'{{\n  "food": "fish",\n  "big": {2**70}\n}}'
    assert entry["snapshot"][0]["text"] == "Pelicans eat fish"
    (found,) = server.get("/api/tree/search?path=Facts&q=pelican+food&recency_bias=0")
    assert found["score"] == found["similarity"] > 0
    assert len(server.get("/api/tree/search")) == 2
    assert save(server, "Facts/Pelicans", "changed", expected_version=1)["version"] == 2
    assert server.get("/api/tree/entry?path=Facts%2FPelicans&version=1")["content"]["food"] == "fish"
    body = {"path": "Facts/Pelicans", "version": 1, "expected_version": 2}
    assert server.post("/api/tree/restore", body)["version"] == 3
    gone = server.post("/api/tree/delete", {"path": "Facts", "recursive": True})["paths"]
    assert gone == ["Facts", "Facts/Pelicans"]
    assert server.get("/api/tree")["children"] == []
    assert server.post("/api/tree/undelete", {"paths": gone})["paths"] == gone
    history = server.get("/api/tree/history?path=Facts%2FPelicans&limit=3")
    assert [(one["version"], one["is_deletion"]) for one in history] == [(5, False), (4, True), (3, False)]
    assert [one["version"] for one in server.get("/api/tree/history?path=Facts%2FPelicans&before=3")] == [2, 1]


def test_the_later_of_two_pages_sees_a_conflict(server: Served) -> None:
    for version in (0, 1):
        save(server, "a", version, expected_version=version)
    body = {"path": "a", "content": "lost?", "expected_version": 1}
    refused = server.call("PUT", "/api/tree/entry", body, status=409)
    assert "is at version 2, not 1" in refused["error"]
    refused = server.post("/api/tree/restore", {"path": "a", "version": 1, "expected_version": 1}, status=409)
    assert "is at version 2" in refused["error"]
    assert server.get("/api/tree/entry?path=a")["content"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/tree?root=nothing", None, 404),
        ("GET", "/api/tree?root=a%2F%2Fb", None, 400),
        ("GET", "/api/tree/entry?path=nothing", None, 404),
        ("GET", "/api/tree/entry?path=a&version=0", None, 400),
        ("GET", "/api/tree/entry?path=a&version=9", None, 404),
        ("GET", "/api/tree/entry", None, 400),
        ("GET", "/api/tree/history?path=nothing", None, 404),
        ("GET", "/api/tree/search?path=nothing&q=x", None, 404),
        ("GET", "/api/tree/search?q=x&recency_bias=2", None, 400),
        ("PUT", "/api/tree/entry", {"path": "a"}, 400),
        ("PUT", "/api/tree/entry", {"path": "", "content": 1}, 400),
        ("PUT", "/api/tree/entry", {"path": "a\u0000b", "content": 1}, 400),
        ("PUT", "/api/tree/entry", {"path": "x" * 3000, "content": 1}, 400),
        ("PUT", "/api/tree/entry", {"path": "a", "content": "x" * 70_000}, 400),
        ("PUT", "/api/tree/entry", {"path": "a", "content": 1, "context_tokens": -1}, 400),
        ("PUT", "/api/tree/entry", b'{"path": "a", "content": ' + b"[" * 500 + b"]" * 500 + b"}", 400),
        ("POST", "/api/tree/delete", {"path": "nothing", "recursive": True}, 404),
        ("POST", "/api/tree/restore", {"path": "a", "version": 7}, 400),
        ("POST", "/api/tree/undelete", {"paths": []}, 400),
        ("POST", "/api/tree/undelete", {"paths": ["a"]}, 409),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    server: Served, method: str, path: str, body: object, status: int
) -> None:
    save(server, "a", 1)
    assert server.call(method, path, body, status=status)["error"].endswith(".")
    assert server.get("/api/tree/entry?path=a")["version"] == 1
