"""A window's conversation over HTTP: all of it, in pages, whatever is in context."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.servers.served import Served, served

SMALL = {"weave.budget_tokens": 260, "weave.keeps_by": "brightness", "weave.resurrection": False}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("conversation"), replies=[f"Answer {number}." for number in range(100)]) as one:
        yield one


def key_of(passage: dict[str, Any]) -> str:
    return f"{passage['key']['turn']}.{passage['key']['chunk']}.{passage['key']['role']}"


def texts(page: dict[str, Any]) -> list[str]:
    return [passage["text"] for passage in page["passages"]]


def chatted(server: Served, name: str, messages: int) -> str:
    """A window with so many messages and replies; its conversation lies among those of another window."""
    window, other = server.new_window(name), server.new_window(f"beside {name}")
    server.call("PATCH", f"/api/windows/{window}", {"overrides": SMALL})
    for number in range(messages):
        server.say(window, f"{name} {number}: " + "the pantry has a shelf for every tin. " * 3)
        if number % 2:
            server.say(other, f"Something else {number}")
    return f"/api/windows/{window}/conversation"


def test_the_pages_make_up_the_whole_conversation_in_both_directions(server: Served) -> None:
    path = chatted(server, "whole", 5)
    everything = server.get(path)
    assert [text.partition(":")[0] for text in texts(everything)[::2]] == [f"whole {number}" for number in range(5)]
    assert not everything["has_earlier"]
    assert not everything["has_later"]
    back = server.get(f"{path}?limit=3")
    while back["has_earlier"]:
        page = server.get(f"{path}?limit=3&before={key_of(back['passages'][0])}")
        assert page["has_later"]
        back = {**page, "passages": page["passages"] + back["passages"]}
    assert back["passages"] == everything["passages"]
    first = everything["passages"][0]
    forth = server.get(f"{path}?limit=3&after={key_of(first)}")
    while forth["has_later"]:
        page = server.get(f"{path}?limit=3&after={key_of(forth['passages'][-1])}")
        assert page["has_earlier"]
        forth = {**page, "passages": forth["passages"] + page["passages"]}
    assert forth["passages"] == everything["passages"][1:]


def test_around_a_passage_are_its_neighbours(server: Served) -> None:
    path = chatted(server, "around", 4)
    everything = server.get(path)["passages"]
    page = server.get(f"{path}?limit=2&around={key_of(everything[3])}")
    assert page["passages"] == everything[3:6]
    assert page["has_earlier"]
    assert page["has_later"]
    assert server.get(f"{path}?around=0.0.user")["passages"] == everything


def test_a_passage_says_why_it_left_the_context(server: Served) -> None:
    path = chatted(server, "reasons", 6)
    window = path.removesuffix("/conversation")
    living = {key_of(chunk) for chunk in server.get(window)["chunks"]}
    for passage in server.get(path)["passages"]:
        assert bool(passage["reason"]) == (key_of(passage) not in living)
    buried = server.get(f"{window}/graveyard")
    assert len(buried) == server.get(window)["buried"] > 0
    assert sum(grave["tokens"] for grave in buried) == server.get(window)["buried_tokens"]


def test_deleted_and_superseded_text_is_not_in_the_conversation(server: Served) -> None:
    path = chatted(server, "deleted", 3)
    window = path.removesuffix("/conversation")
    first, *_, newest = server.get(path)["passages"]
    server.post(f"{window}/chunks/{key_of(first)}/delete")
    server.post(f"{window}/regenerate", status=202)
    server.settled(window.rpartition("/")[2])
    left = server.get(path)["passages"]
    assert key_of(first) not in map(key_of, left)
    assert key_of(newest) not in map(key_of, left)
    assert len(left) == 4


@pytest.mark.parametrize("query", ["before=1.0.user&after=1.0.user", "around=x", "limit=0", "limit=501"])
def test_a_wrong_question_is_refused(server: Served, query: str) -> None:
    path = f"/api/windows/{server.get('/api/windows')[0]['id'] if server.get('/api/windows') else server.new_window()}"
    assert server.get(f"{path}/conversation?{query}", status=400)["error"]
