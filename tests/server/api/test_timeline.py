"""The timeline over HTTP: pages of changes with their reasons, and the context at each of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers.served import Served, served
from support.windows import long_text


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    overrides = {"memory.chunk_min_tokens": "8", "weave.resurrection": "false", "weave.budget_tokens": "120"}
    with served(tmp_path, replies=[long_text(4)] * 9, overrides=overrides) as server:
        yield server


def keys(chunks: list[dict[str, Any]]) -> list[str]:
    return ["{turn}.{chunk}.{role}".format(**chunk["key"]) for chunk in chunks]


def test_a_page_ends_where_the_next_begins_and_all_tell_the_whole_story(server: Served) -> None:
    window = server.new_window()
    path = f"/api/windows/{window}/timeline"
    assert server.get(path) == []
    for number in range(4):
        server.say(window, f"Question {number} about rivers.")
    whole = server.get(path)
    paged = server.get(f"{path}?limit=3")
    while more := server.get(f"{path}?limit=3&before={paged[-1]['number']}"):
        paged += more
    assert paged == whole
    assert [moment["number"] for moment in whole] == sorted((one["number"] for one in whole), reverse=True)
    assert server.get(f"{path}?after={whole[2]['number']}") == whole[:2]
    buried = [change for moment in whole for change in moment["changes"] if change["kind"] == "buried"]
    graves = server.get(f"/api/windows/{window}/graveyard?limit=1000")
    assert sorted((*keys(buried), *[one["reason"] for one in buried])) == sorted(
        (*keys(graves), *[one["reason"] for one in graves])
    )


def test_the_newest_moment_has_the_present_context_and_earlier_ones_what_was_there_then(server: Served) -> None:
    window = server.new_window()
    path = f"/api/windows/{window}/timeline"
    states = {}
    for number in range(4):
        states[number] = server.say(window, f"Question {number} about rivers.")
        states[number]["moment"] = server.get(f"{path}?limit=1")[0]["number"]
    pinned = states[3]["chunks"][0]
    server.post(f"/api/windows/{window}/chunks/{keys([pinned])[0]}/pin")
    server.post(f"/api/windows/{window}/close")
    for state in states.values():
        past = server.get(f"{path}/{state['moment']}")
        for name in ("key", "position", "pieces", "is_pinned"):
            assert [chunk[name] for chunk in past["chunks"]] == [chunk[name] for chunk in state["chunks"]]
        assert (past["number"], past["missing"]) == (state["moment"], 0)
        assert [change["kind"] for change in past["changes"]].count("said") > 0
    latest = server.get(f"{path}/{server.get(f'{path}?limit=1')[0]['number']}")
    assert [chunk["is_pinned"] for chunk in latest["chunks"]].count(True) == 1
    (change,) = latest["changes"]
    assert (change["kind"], change["is_pinned"], change["text"]) == ("pinned", True, "".join(pinned["pieces"])[:120])


def test_what_was_deleted_since_is_marked_and_what_was_forgotten_is_counted(server: Served) -> None:
    window = server.new_window()
    state = server.say(window, "Question about rivers.")
    moment = server.get(f"/api/windows/{window}/timeline?limit=1")[0]["number"]
    deleted = keys(state["chunks"])
    server.post(f"/api/windows/{window}/chunks/{deleted[0]}/delete?exchange=true")
    path = f"/api/windows/{window}/timeline/{moment}"
    assert [chunk["is_deleted"] for chunk in server.get(path)["chunks"]] == [True] * len(deleted)
    server.program.memory.forget_all_deleted("test")
    assert (server.get(path)["chunks"], server.get(path)["missing"]) == ([], len(deleted))
    assert {change["text"] for change in server.get(path)["changes"]} == {""}


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "before=-1", f"after={2**63}"])
def test_a_page_that_cannot_be_is_refused(server: Served, query: str) -> None:
    window = server.new_window()
    assert "must be" in server.get(f"/api/windows/{window}/timeline?{query}", status=400)["error"]


def test_a_moment_that_is_not_there_is_not_found(server: Served) -> None:
    path = f"/api/windows/{server.new_window()}/timeline"
    assert "has no moment 7" in server.get(f"{path}/7", status=404)["error"]
    for bad in ("x", "-1", "9" * 20):
        assert "is not the number of a moment" in server.get(f"{path}/{bad}", status=400)["error"]
