"""Assigns turns and positions to chunks from elsewhere: their own numbers if free, otherwise new ones in order."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from halo_weave.memory.store.protocol import FIRST_TURN, Store
from halo_weave.records.chunks import Chunk, ChunkKey, Reservation, Stats
from halo_weave.records.roles import Role


class Placing(NamedTuple):
    chunks: list[Chunk]
    is_renumbered: bool = False
    is_far_away: bool = False
    """Whether the numbers in the file were free but far from those in use."""


def place(store: Store, chunks: Sequence[Chunk]) -> Placing:
    """Place chunks, given in order of position, at turns and positions reserved exclusively for them."""
    is_far_away = _are_far_away(store, chunks)
    if not is_far_away and _reserve_own_numbers(store, chunks):
        return Placing(list(chunks))
    first, end = chunks[0].first_position, chunks[-1].end_position
    reservation = store.reserve(end - first)
    turns = _new_turns(store, reservation, chunks)
    return Placing(
        [
            _moved(chunk, turns[chunk.key.turn], chunk.first_position - first + reservation.position_start)
            for chunk in chunks
        ],
        is_renumbered=True,
        is_far_away=is_far_away,
    )


def _are_far_away(store: Store, chunks: Sequence[Chunk]) -> bool:
    """Whether free numbers are so far away that reaching them, at two turns per reservation, takes too many."""
    stats, turns = store.stats(), {chunk.key.turn for chunk in chunks}
    return _are_free(stats, chunks) and max(turns) - stats.next_turn > 2 * len(turns)


def _are_free(stats: Stats, chunks: Sequence[Chunk]) -> bool:
    first_turn = min(chunk.key.turn for chunk in chunks)
    return first_turn >= max(FIRST_TURN, stats.next_turn) and chunks[0].first_position >= stats.next_position


def _reserve_own_numbers(store: Store, chunks: Sequence[Chunk]) -> bool:
    """Try to reserve the chunks' own numbers; return whether they now belong to the chunks.

    Only a reservation is certain. Numbers that look free before it may not be, because others reserve too.
    """
    stats = store.stats()
    turns = sorted({chunk.key.turn for chunk in chunks})
    if not _are_free(stats, chunks):
        return False
    reservations = [store.reserve(chunks[-1].end_position - stats.next_position)]
    while reservations[-1].turn_assistant < turns[-1]:
        reservations.append(store.reserve(1))
    owned = {turn for one in reservations for turn in (one.turn_user, one.turn_assistant)}
    return reservations[0].position_start == stats.next_position and owned.issuperset(turns)


def _new_turns(store: Store, reservation: Reservation, chunks: Sequence[Chunk]) -> dict[int, int]:
    """Assign new turns. A user's turn and the answer to it stay a pair."""
    roles: dict[int, Role] = {}
    for chunk in chunks:
        roles.setdefault(chunk.key.turn, chunk.key.role)
    turns: dict[int, int] = {}
    unused: Reservation | None = reservation
    pair = reservation
    for turn in sorted(roles):
        is_answer = roles[turn] == "assistant"
        if not (is_answer and roles.get(turn - 1) == "user"):
            pair, unused = unused or store.reserve(1), None
        turns[turn] = pair.turn_assistant if is_answer else pair.turn_user
    return turns


def _moved(chunk: Chunk, turn: int, first_position: int) -> Chunk:
    key = ChunkKey(turn, chunk.key.index, chunk.key.role)
    return msgspec.structs.replace(chunk, key=key, first_position=first_position)
