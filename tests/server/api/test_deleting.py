"""Deleting and undeleting through the server, the events they cause, and the counts of windows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers.served import Served, Tab, served
from support.windows import long_text

REPLY = long_text(12)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    overrides = {"memory.chunk_min_tokens": "8", "weave.resurrection": "false"}
    with served(tmp_path, replies=[REPLY, "Another one."], overrides=overrides) as server:
        yield server


def keys(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [chunk["key"] for chunk in state["chunks"]]


def path_of(window: str, key: dict[str, Any]) -> str:
    return f"/api/windows/{window}/chunks/{key['turn']}.{key['chunk']}.{key['role']}/delete"


def test_deleting_a_paragraph_of_the_newest_reply_deletes_that_paragraph(server: Served) -> None:
    window = server.new_window()
    before = keys(server.say(window, "Tell me of rivers."))
    second = before[2]
    assert server.post(path_of(window, second)) == {"keys": [second], "question": None}
    assert keys(server.get(f"/api/windows/{window}")) == [key for key in before if key != second]
    whole = server.post(path_of(window, before[1]) + "?exchange=true")
    assert whole["question"] == "Tell me of rivers."
    assert keys(server.get(f"/api/windows/{window}")) == []


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_superseded_exchange_that_is_undeleted_lives_again_or_lies_in_the_graveyard_and_the_page_is_told(
    server: Served, is_reopened: bool
) -> None:
    window = server.new_window()
    earlier = keys(server.say(window, "Tell me of rivers."))
    server.post(f"/api/windows/{window}/regenerate", status=202)
    server.settled(window)
    if is_reopened:
        server.post(f"/api/windows/{window}/close")
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
        server.post(f"/api/windows/{window}/undelete", {"keys": earlier})
        tab.follow_until(socket, lambda: tab.has("stats"))
    told = {event["kind"]: event["data"] for event in tab.events}
    assert told["undeleted"]["keys"] == earlier
    state = server.get(f"/api/windows/{window}")
    if is_reopened:
        assert [one["key"] for one in told["buried"]["chunks"]] == earlier
        graves = server.get(f"/api/windows/{window}/graveyard")
        assert [one["is_deleted"] for one in graves if one["key"] in earlier] == [False] * len(earlier)
        assert state["buried"] == len(earlier)
    else:
        assert keys({"chunks": told["undeleted"]["chunks"]}) == earlier
        assert keys(state)[: len(earlier)] == earlier


def test_open_or_closed_a_window_has_as_many_tokens_in_the_list_as_in_its_state(server: Served) -> None:
    window = server.new_window()
    tokens = server.say(window, "Tell me of rivers.")["tokens"]
    assert [one["tokens"] for one in server.get("/api/windows")] == [tokens]
    server.post(f"/api/windows/{window}/close")
    assert [(one["tokens"], one["is_open"]) for one in server.get("/api/windows")] == [(tokens, False)]


def test_the_search_of_the_memory_is_announced_only_where_it_is_searched(server: Served) -> None:
    window = server.new_window()
    for overrides, is_searched in (({}, False), ({"weave.resurrection": True}, True)):
        server.call("PATCH", f"/api/windows/{window}", {"overrides": overrides})
        log = server.program.window(window).log
        before = log.last_number
        server.say(window, "Tell me of rivers.")
        told = [event.data["text"] for event in log.since(before) or [] if event.kind == "status"]
        assert ("searching the memory" in told) == is_searched
