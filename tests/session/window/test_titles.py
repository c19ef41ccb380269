"""Windows name themselves after their first message, unless somebody has named them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.restoring import checked_name
from halo_weave.session.window.titles import free_name, title_of
from support.windows import opened_hub


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("How do I prune an old apple tree?", "How do I prune an old apple tree?"),
        ("Hello! How do I prune an apple tree? It is old.", "Hello! How do I prune an apple tree?"),
        ("My cat is ill. She does not eat since Monday.", "My cat is ill"),
        ("\n\n## Plan for *Saturday*:\nbuy paint", "Plan for Saturday"),
        ("Attached file: a.txt\n```txt\nwords. Words\n```\n\nSummarise this.", "Summarise this"),
        ("Attached file: a.txt\n```txt\nwords. Words\n```", "Attached file: a.txt"),
        ("我想学做面包。你能帮我吗？", "我想学做面包"),
        ("It costs 3.50 euros at the corner shop", "It costs 3.50 euros at the corner shop"),
        ("word " * 40, "word word word word word word word word word…"),
        ("x" * 300, "x" * 47 + "…"),
        ("?!", ""),
    ],
)
def test_a_title_is_the_first_sentence_cut_at_a_word(message: str, title: str) -> None:
    assert title_of(message) == title


@given(st.text())
def test_every_title_is_a_valid_name(message: str) -> None:
    title = title_of(message)
    assert not title or checked_name(title) == title


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("Cats", ()) == "Cats"
    assert free_name("Cats", {"Cats", "Cats 2"}) == "Cats 3"


def names(hub: Hub) -> list[str]:
    return sorted(one.name for one in hub.windows())


def test_a_window_without_a_name_gets_the_title_of_its_first_message(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        windows = [hub.begin(), hub.begin()]
        assert names(hub) == ["New window", "New window 2"]
        for window in windows:
            send(window, "Tell me about storks. They are large.")
            send(window, "And about herons?")
        assert names(hub) == ["Tell me about storks", "Tell me about storks 2"]
        assert [event.data["name"] for event in windows[0].log.since(0) or () if event.kind == "changed"] == [
            "Tell me about storks"
        ]
    with opened_hub(tmp_path / "halo.db") as hub:
        assert hub.open("Tell me about storks").messages == 2


def test_a_name_that_a_person_gave_is_never_changed(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        for window in (hub.open("by opening"), hub.begin("by beginning"), hub.begin()):
            if window.is_name_automatic:
                hub.rename(window, "by renaming")
            send(window, "Tell me about storks.")
        assert names(hub) == ["by beginning", "by opening", "by renaming"]


def test_a_window_that_was_closed_before_its_first_message_is_still_titled(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        hub.begin()
    with opened_hub(tmp_path / "halo.db") as hub:
        send(hub.open("New window"), "Tell me about storks.")
        assert names(hub) == ["Tell me about storks"]
