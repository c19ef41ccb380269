"""The notes over HTTP: reading, changing and refusing, and never overwriting another writer's change."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.served import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, waits=False) as one:
        yield one


def test_notes_are_read_and_changed(server: Served) -> None:
    fresh = server.get("/api/notes")
    assert (fresh["version"], fresh["time"]) == (0, None)
    assert json.loads(fresh["document"])["reminders"] == []
    saved = server.post("/api/notes/patch", {"filter": '.topics.cat = "Mia"'})
    assert saved == {
        "version": 1,
        "changes": [{"path": ".topics.cat", "value": "Mia", "is_deleted": False}],
        "text": '.topics.cat = "Mia"',
    }
    assert server.post("/api/notes/query", {"filter": ".topics, 1"}) == {"results": [{"cat": "Mia"}, 1]}
    long = '{"n": 3.14159265358979323846264338}'
    replaced = server.call("PUT", "/api/notes", {"document": long, "version": 1})
    assert {"path": ".topics", "value": None, "is_deleted": True} in replaced["changes"]
    assert server.get("/api/notes")["document"] == '{\n  "n": 3.14159265358979323846264338\n}'
    assert server.post("/api/notes/undo", {})["version"] == 3
    assert server.post("/api/notes/restore", {"restore": 2})["version"] == 4
    history = server.get("/api/notes/history")
    assert [(one["version"], one["command"]) for one in history] == [
        (4, "restore 2"), (3, "undo 1"), (2, "replace"), (1, '.topics.cat = "Mia"')
    ]  # fmt: skip
    assert server.get("/api/notes/history?before=4&limit=2") == history[1:3]
    assert server.get("/api/notes/versions/3")["document"] == server.get("/api/notes/versions/1")["document"]
    assert server.get("/api/notes/versions/0")["document"] == fresh["document"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "query", {"filter": ".["}, 400),
        ("POST", "query", {"filter": "until(false; .)"}, 400),
        ("POST", "query", {}, 400),
        ("POST", "query", {"filter": "x" * 70_000}, 400),
        ("POST", "patch", {"filter": ".reminders"}, 400),
        ("POST", "patch", {"filter": ".topics.a = 1", "version": 7}, 409),
        ("POST", "patch", {"filter": ".", "version": -1}, 400),
        ("POST", "undo", {}, 400),
        ("POST", "undo", {"version": 3}, 409),
        ("POST", "restore", {"restore": 8}, 400),
        ("POST", "restore", {"restore": 0, "version": 2}, 409),
        ("GET", "versions/9", None, 404),
        ("GET", "versions/x", None, 404),
        ("GET", f"versions/{10**30}", None, 404),
        ("GET", "history?limit=0", None, 400),
    ],
)
def test_what_is_refused_changes_nothing(server: Served, method: str, path: str, body: object, status: int) -> None:
    assert server.call(method, f"/api/notes/{path}", body, status=status)["error"].endswith(".")
    assert server.get("/api/notes")["version"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"document": "{}", "version": 4}, 409),
        ({"document": "[]", "version": 0}, 400),
        ({"document": "{", "version": 0}, 400),
        ({"document": '{"a": "' + "x" * 300_000 + '"}', "version": 0}, 400),
        ({"document": "{}"}, 400),
    ],
)
def test_a_document_that_is_refused_changes_nothing(server: Served, body: object, status: int) -> None:
    server.call("PUT", "/api/notes", body, status=status)
    assert server.get("/api/notes")["version"] == 0
