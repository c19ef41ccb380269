"""Every endpoint does what its description says, and answers as /openapi.json specifies."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halo_weave.server.app import ENDPOINTS
from support.servers.served import Served, served, until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


def key_of(chunk: dict[str, Any]) -> str:
    return f"{chunk['key']['turn']}.{chunk['key']['chunk']}.{chunk['key']['role']}"


def texts(state: dict[str, Any]) -> list[str]:
    return ["".join(chunk["pieces"]) for chunk in state["chunks"]]


def test_all_endpoints_answer_as_described(tmp_path: Path) -> None:
    """Calls every endpoint; `Served.call` validates each answer."""
    long = "\n\n".join(f"Paragraph {number} " + "word " * 40 for number in range(3))
    with served(tmp_path, replies=["First answer.", long], overrides={"memory.chunk_min_tokens": "20"}) as one:
        window = one.new_window()
        state = one.say(window, "A question about pelicans")
        base = f"/api/windows/{window}"
        assert [name["name"] for name in one.get("/api/windows")] == ["main"]
        assert one.get("/api/status")["engine"]["state"] == "ready"

        first = key_of(state["chunks"][0])
        one.post(f"{base}/chunks/{first}/pin")
        assert one.get(base)["chunks"][0]["is_pinned"]
        one.post(f"{base}/chunks/{first}/unpin")
        card = one.get(f"{base}/tokens/{first}/0")
        assert card["text"] == state["chunks"][0]["pieces"][0]
        assert one.get("/api/turns/1")[0]["text"] == "A question about pelicans"
        assert one.get(f"{base}/conversation")["passages"][0]["text"] == "A question about pelicans"
        found = one.get(f"/api/search?q=pelicans&role=user&since=2020-01-01T00:00:00Z&window={window}")
        assert found[0]["is_living"]
        assert one.post("/api/render", {"texts": ["*hi*"]})["html"] == ['<p dir="auto"><em>hi</em></p>\n']

        one.post(f"{base}/regenerate", status=202)
        answer = [chunk for chunk in one.settled(window)["chunks"] if chunk["key"]["role"] == "assistant"]
        assert len(answer) > 1
        merged = one.post(f"{base}/chunks/{key_of(answer[1])}/merge")
        assert merged["key"] == answer[0]["key"]
        assert any(grave["is_superseded"] for grave in one.get(f"{base}/graveyard"))
        one.post(f"{base}/continue", status=202)
        one.settled(window)
        turn = one.get(base)["newest"]["turn_user"]
        one.post(f"{base}/edit", {"turn": turn, "text": "A question about storks"}, status=202)
        state = one.settled(window)
        assert "A question about storks" in texts(state)
        newest = state["newest"]["turn_assistant"]
        turn = one.post(f"{base}/edit-reply", {"turn": newest, "text": "Storks bring luck."})["turn"]
        assert one.post(f"{base}/edit-reply", {"turn": newest, "text": "Not any more."}, status=400)["error"]
        state = one.get(base)
        assert (state["newest"]["turn_assistant"], texts(state)[-1]) == (turn, "Storks bring luck.")
        assert state["chunks"][-1]["marks"] == {"edited": True}
        deletion = one.post(f"{base}/chunks/{key_of(state['chunks'][-1])}/delete")
        assert deletion["question"] == "A question about storks"
        one.post(f"{base}/undelete", {"keys": deletion["keys"]})
        assert "A question about storks" in texts(one.get(base))
        one.post(f"{base}/reflect", status=202)
        assert one.settled(window)["chunks"][-1]["marks"]["reflection"]
        one.post(f"{base}/stop", status=202)

        folder = one.post(f"{base}/capture", {"is_on": True})["folder"]
        assert one.get(base)["is_captured"]
        assert one.post(f"{base}/capture", {"is_on": False})["folder"] == folder
        overrides = {"weave.budget_tokens": 60}
        assert one.call("PATCH", base, {"name": "renamed", "overrides": overrides})["name"] == "renamed"
        one.say(window, "Now something must leave the context")
        grave = one.get(f"{base}/graveyard?limit=1")[0]
        walked = [grave]
        while page := one.get(f"{base}/graveyard?limit=1&before={key_of(walked[-1])}"):
            walked += page
        assert walked == one.get(f"{base}/graveyard")
        assert {True, False} == {each["is_deleted"] for each in walked}
        assert one.get(f"{base}/graveyard?before={key_of(grave)}") != [grave]
        assert one.get(f"{base}/gaps")
        buried = next(grave for grave in one.get(f"{base}/graveyard") if not grave["is_deleted"])
        assert one.get(f"{base}/graveyard?keys={key_of(buried)}") == [buried]
        one.call("PATCH", base, {"overrides": {}})
        one.post(f"{base}/chunks/{key_of(buried)}/resurrect")
        assert buried["key"] in [chunk["key"] for chunk in one.get(base)["chunks"]]

        one.post(f"{base}/queue", {"text": "Queued"}, status=202)
        one.settled(window)
        waiting = one.program.window(window).pending.add("Waits")
        one.call("PUT", f"{base}/queue/{waiting.id}", {"text": "Waits no more"})
        withdrawn = one.program.window(window).pending.add("Withdrawn")
        one.call("DELETE", f"{base}/queue/{withdrawn.id}")
        assert [message["text"] for message in one.get(base)["pending"]] == ["Waits no more"]
        one.post(f"{base}/send-queued", status=202)
        assert texts(one.settled(window))[-2:] == ["Waits no more", "You said: Waits no more"]
        one.call("PUT", "/api/windows/order", {"folder": "Birds", "windows": [window]})
        assert [(each["folder"], each["place"]) for each in one.get("/api/windows")] == [("Birds", 0)]
        preset = one.post("/api/presets/import", {"name": "warm", "content": '{"temp": 1.5, "tfs": 1}'})
        assert preset["ignored"] == ["tfs"]
        one.call("PUT", "/api/presets/cold", {"settings": {"generation.temperature": 0.1}})
        one.call("DELETE", "/api/presets/cold")
        assert one.get("/api/presets") == [{"name": "warm", "settings": {"generation.temperature": 1.5}}]

        assert one.get("/api/settings")
        changed = one.call("PUT", "/api/settings", {"generation.temperature": 1})
        assert changed == {"restart": [], "overridden": [], "is_loading": False}
        exported = one.get("/api/export").content
        assert one.get(one.post("/api/export")["link"]).content.split(b"\n")[1:] == exported.split(b"\n")[1:]
        assert one.get(one.post("/api/backup")["link"]).content.startswith(b"SQLite format 3")
        job = one.post("/api/import", exported, status=202)
        until(lambda: one.get("/api/jobs")[0]["state"] == "done")
        one.post(f"/api/jobs/{job['id']}/stop")
        one.post("/api/reembed", status=202)
        until(lambda: one.get("/api/jobs")[1]["state"] == "done")
        one.call("PUT", "/api/tree/entry", {"path": "Birds/Pelicans", "content": {"large": True}})
        assert one.get("/api/tree")["children"][0]["heading"] == "Birds"
        assert one.get("/api/tree/entry?path=Birds/Pelicans")["content"] == {"large": True}
        assert one.get("/api/tree/search?path=Birds&q=pelicans")[0]["path"] == "Birds/Pelicans"
        one.post("/api/tree/delete", {"path": "Birds", "recursive": True})
        one.post("/api/tree/undelete", {"paths": ["Birds/Pelicans"]})
        assert one.post("/api/tree/restore", {"path": "Birds/Pelicans", "version": 1})["version"] == 4
        assert len(one.get("/api/tree/history?path=Birds/Pelicans")) == 4
        one.post("/api/notes/patch", {"filter": '.topics.birds = ["pelican"]'})
        assert one.post("/api/notes/query", {"filter": ".topics.birds[0]"})["results"] == ["pelican"]
        assert one.call("PUT", "/api/notes", {"document": '{"n": 1}', "version": 1})["version"] == 2
        assert one.post("/api/notes/undo", {"version": 2})["version"] == 3
        assert one.post("/api/notes/restore", {"restore": 2})["text"].startswith(".n = 1")
        assert len(one.get("/api/notes/history")) == one.get("/api/notes")["version"] == 4
        assert one.get("/api/notes/versions/2")["command"] == "replace"
        assert one.get("/healthz")["is_alive"]
        assert one.get("/readyz").text == "ready\n"
        assert "halo_replies_total" in one.get("/metrics").text
        newest = one.get(f"{base}/timeline?limit=1")[0]
        assert one.get(f"{base}/timeline/{newest['number']}")["time"] == newest["time"]
        assert not one.get(f"{base}/heat")["has_reader"]
        one.post(f"{base}/close")
        assert one.get(base)["name"] == "renamed"
        one.call("DELETE", base)
        assert one.get("/api/windows") == []
        assert one.called == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/windows/nothing", None, 404),
        ("GET", "/api/nothing", None, 404),
        ("POST", "/api/windows", {"name": ""}, 400),
        ("POST", "/api/windows", {"nome": "x"}, 400),
        ("POST", "/api/windows", [1], 400),
        ("POST", "/api/windows", {"kind": "secret"}, 400),
        ("PUT", "/api/windows/order", {"windows": ["private-1"]}, 400),
        ("PUT", "/api/windows/order", {"windows": ["nobody"]}, 409),
        ("PATCH", "/api/windows/WINDOW", {"folder": "two\nlines"}, 400),
        ("POST", "/api/windows/WINDOW/queue", {"text": " "}, 400),
        ("PUT", "/api/windows/WINDOW/queue/nobody", {"text": "x"}, 400),
        ("DELETE", "/api/windows/WINDOW/queue/nobody", None, 400),
        ("PUT", "/api/presets/x", {"settings": {"weave.floor": 1}}, 400),
        ("DELETE", "/api/presets/nobody", None, 400),
        ("POST", "/api/presets/import", {"name": "x", "content": "{"}, 400),
        ("POST", "/api/windows/WINDOW/messages", {"text": "  "}, 400),
        ("POST", "/api/windows/WINDOW/messages", {"text": "word " * 9000}, 400),
        ("POST", "/api/windows/WINDOW/edit", {"turn": "x", "text": "y"}, 400),
        ("POST", "/api/windows/WINDOW/edit-reply", {"turn": "2", "text": "Words."}, 400),
        ("POST", "/api/windows/WINDOW/edit-reply", {"turn": "2"}, 400),
        ("POST", "/api/windows/WINDOW/chunks/1.0.user/pin", None, 400),
        ("POST", "/api/windows/WINDOW/chunks/1.0.nobody/pin", None, 400),
        ("POST", "/api/windows/WINDOW/undelete", {"keys": []}, 400),
        ("GET", "/api/windows/WINDOW/tokens/1.0.user/0", None, 404),
        ("GET", "/api/windows/WINDOW/graveyard?limit=0", None, 400),
        ("GET", "/api/search", None, 400),
        ("GET", "/api/search?q=x&since=yesterday", None, 400),
        ("GET", "/api/turns/99", None, 404),
        ("POST", "/api/jobs/9/stop", None, 404),
        ("POST", "/api/import", None, 400),
        ("PATCH", "/api/windows/WINDOW", {"overrides": {"engine.kind": "echo"}}, 400),
        ("PUT", "/api/settings", {"generation.nothing": 1}, 400),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    server: Served, method: str, path: str, body: object, status: int
) -> None:
    window = server.new_window()
    answer = server.call(method, path.replace("WINDOW", window), body, status=status)
    assert answer["error"].endswith((".", "?"))


def test_names_of_windows_are_taken_once(server: Served) -> None:
    server.new_window("one")
    assert "already" in server.post("/api/windows", {"name": "one"}, status=400)["error"]


def test_a_lone_half_of_a_character_is_refused(server: Served) -> None:
    window = server.new_window()
    response = server.http.post(f"/api/windows/{window}/messages", content=b'{"text": "\\ud800"}')
    assert response.status_code == 400


def test_hostile_text_comes_back_as_it_was(server: Served) -> None:
    window, text = server.new_window(), "<script>alert(1)</script>\x1b[31m\x00\u202eabc"
    assert server.say(window, text)["chunks"][0]["pieces"]
    assert texts(server.get(f"/api/windows/{window}"))[0] == text


def test_the_history_of_a_token_is_kept_and_bounded(tmp_path: Path) -> None:
    with served(tmp_path, step_seconds=0.02) as one:
        window = one.new_window()
        one.say(window, "Some words to look at")
        one.say(window, "And some more of them, so that time goes by")
        card = one.get(f"/api/windows/{window}/tokens/1.0.user/1")
        assert 1 <= len(card["history"]) <= 64
        assert card["history"][-1] == card["brightness"]


def test_sizes_of_closed_windows_are_kept_for_their_newest_version_alone(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        window, gone = one.new_window("stays"), one.new_window("goes")
        for turns in range(1, 4):
            one.say(window, "Hello")
            for closed in (window, gone):
                one.post(f"/api/windows/{closed}/close")
            sizes = {entry["id"]: entry["messages"] for entry in one.get("/api/windows")}
            assert sizes == {window: turns, gone: 0}
            assert {known for known, _ in one.program.saved_sizes} == {window, gone}
            assert len(one.program.saved_sizes) == 2
        one.call("DELETE", f"/api/windows/{gone}")
        one.post(f"/api/windows/{window}/close")
        one.get("/api/windows")
        assert {known for known, _ in one.program.saved_sizes} == {window}
