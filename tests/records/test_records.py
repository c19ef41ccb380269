"""Records that validate themselves, and the packed lists in them."""

from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.packing import LARGEST, pack, packed_count, packed_total, unpack
from halo_weave.records.tokens import Token
from support.made_up_chunks import TIME, made_up_chunk

tokens = st.lists(st.builds(Token, st.integers(0, LARGEST), st.text(max_size=300)), min_size=1)


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, LARGEST))))
def test_packed_numbers_come_back(values: list[int]) -> None:
    assert unpack(pack(values)).tolist() == values
    assert packed_count(pack(values)) == len(values)
    assert packed_total(pack(values)) == sum(values)


@pytest.mark.parametrize("values", [[-1], [1, 2**31]])
def test_numbers_that_are_no_token_ids_are_refused(values: list[int]) -> None:
    with pytest.raises(InputError, match="is not from 0"):
        pack(values)


@pytest.mark.parametrize("packed", [b"", b"\x00", b"\x03abc", b"\x02abc", b"\x04abcdefg"])
def test_what_is_no_packed_list_is_refused(packed: bytes) -> None:
    with pytest.raises(InputError, match="not a packed list"):
        unpack(packed)


@given(tokens)
def test_a_chunk_gives_back_the_tokens_it_was_made_of(tokens: list[Token]) -> None:
    chunk = Chunk.of_tokens(ChunkKey(3, 1, "assistant"), tokens, first_position=2**70, time=TIME)
    assert chunk.tokens() == tokens
    assert chunk.text == "".join(token.text for token in tokens)
    assert chunk.end_position == 2**70 + len(tokens) == chunk.first_position + chunk.token_count


def test_a_chunk_without_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="Chunk 1:0 \\(user\\) has no tokens"):
        Chunk.of_tokens(ChunkKey(1, 0, "user"), [], first_position=0, time=TIME)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "longer than its pieces"}, "characters, but its text has"),
        ({"packed_lengths": pack([1])}, "but 1 pieces of text"),
        ({"text": "\ud83d"}, "an unpaired surrogate at index 0"),
        ({"first_position": -1}, "is negative"),
        ({"first_position": 1.0}, "not a whole number"),
        ({"time": datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001
        ({"deleted_at": datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001
        ({"key": ChunkKey(-1, 0, "user")}, "is negative"),
        ({"key": ChunkKey(1, -1, "user")}, "index -1"),
        ({"key": ChunkKey(1, True, "user")}, "index True"),
        ({"key": ChunkKey(1, 2**63, "user")}, "index 9223372036854775808"),
        ({"key": ChunkKey(1, 0, "robot")}, "'robot' is not one of system, user, assistant"),  # type: ignore[arg-type]
        ({"metadata": ["a list"]}, "not a JSON object"),
        ({"metadata": {"value": float("nan")}}, "not a JSON object"),
        ({"metadata": {"half": "\ud83d"}}, "not a JSON object"),
        ({"metadata": {1: "number"}}, "not a JSON object"),
        ({"metadata": {"what": object()}}, "not a JSON object"),
    ],
)
def test_a_chunk_that_contradicts_itself_cannot_be_made(changes: dict[str, Any], message: str) -> None:
    chunk = made_up_chunk(1, first=0)
    with pytest.raises(InputError, match=message):
        msgspec.structs.replace(chunk, **changes)


def test_keys_are_shown_in_full_however_large() -> None:
    assert str(ChunkKey(10**5000, 2, "user")) == "1" + "0" * 5000 + ":2 (user)"
