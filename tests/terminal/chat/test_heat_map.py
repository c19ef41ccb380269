"""The heat map shows living chunks, their brightness and pins, and the gaps left by buried ones."""

import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.terminal.chat.heat_map import MARKS, heat_map, levels, shaded
from halo_weave.weave.context import LiveChunk

TIME = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


def chunk(turn: int, role: Role, words: dict[str, float], *, index: int = 0, is_pinned: bool = False) -> LiveChunk:
    return LiveChunk(
        key=ChunkKey(turn, index, role),
        first_position=turn * 100 + index * 10,
        end_position=turn * 100 + index * 10 + len(words),
        turn_start=turn * 100,
        time=TIME,
        tokens=[Token(1, word) for word in words],
        state=np.array([list(words.values())], dtype=np.float32),
        is_pinned=is_pinned,
    )


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_every_chunk_stands_under_its_name_with_its_marks() -> None:
    chunks = [chunk(1, "user", {"old": -40, " words": 300}), chunk(2, "assistant", {"new": 10_000}, is_pinned=True)]
    lines = list(heat_map(chunks, [0, 0, 0], has_colours=False))
    assert lines[0] == f"-40 {MARKS} 10,000"
    assert re.fullmatch(r"\[1:0 \(user\) · 2026-05-17 \d\d:\d\d · peak 300\]", lines[1])
    assert lines[2] == f"{MARKS[0]}old{MARKS[4]} words"
    assert lines[3].endswith("peak 10,000 · pinned]")
    assert lines[4] == f"{MARKS[7]}new"


def test_buried_chunks_are_counted_where_they_are_missing() -> None:
    chunks = [chunk(3, "user", {"a": 1}), chunk(3, "user", {"b": 1}, index=4), chunk(9, "user", {"c": 1})]
    lines = list(heat_map(chunks, [1, 3, 0, 2], has_colours=False))
    shown = [line for line in lines[1:] if not line.startswith("[") or "archived" in line]
    mark = MARKS[-1]
    assert shown == [
        "[··· 1 chunk archived ···]",
        f"{mark}a",
        "[··· 3 chunks archived ···]",
        f"{mark}b",
        f"{mark}c",
        "[··· 2 chunks archived ···]",
    ]


def test_an_empty_context_has_no_lines() -> None:
    assert list(heat_map([], [0], has_colours=True)) == []


def test_colours_are_of_256_and_never_run_past_a_line() -> None:
    text = shaded(["one\n", "two", " three"], [0, 0, 7], has_colours=True)
    first, second = text.split("\n")
    assert re.fullmatch(r"\x1b\[38;5;\d+;48;5;\d+mone\x1b\[0m", first)
    assert re.fullmatch(r"\x1b\[38;5;\d+;48;5;\d+mtwo\x1b\[0m\x1b\[38;5;\d+;48;5;\d+m three\x1b\[0m", second)


@pytest.mark.parametrize("has_colours", [True, False])
def test_words_cannot_steer_the_terminal(has_colours: bool) -> None:
    text = shaded(["\x1b[2Jgone\x07"], [3], has_colours=has_colours)
    assert plain(text).lstrip(MARKS) == "[2Jgone"


@given(st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=200))
def test_brighter_is_never_on_a_lower_level_and_the_brightest_is_on_the_highest(brightness: list[int]) -> None:
    found = levels(np.array(brightness, dtype=np.float32)).tolist()
    pairs = sorted(zip(brightness, found, strict=True))
    assert [level for _, level in pairs] == sorted(found)
    assert pairs[-1][1] == len(MARKS) - 1
    assert min(found) >= 0


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), st.integers(0, 7))))
def test_the_words_are_all_there_in_order(pieces: list[tuple[str, int]]) -> None:
    texts, of_pieces = [text for text, _ in pieces], [level for _, level in pieces]
    assert plain(shaded(texts, of_pieces, has_colours=True)) == "".join(texts)
