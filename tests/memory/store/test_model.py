"""A store under random operations equals a plain dictionary."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey, PlacedToken, Reservation
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from support.made_up_chunks import TIME
from support.store_factories import STORES, fresh_memory

EMBEDDER = "made-up"
tokens = st.lists(
    st.builds(Token, st.integers(0, 99), st.sampled_from([" sea", " hill", "", "ü", "Ada: "])), min_size=1, max_size=6
)
roles = st.sampled_from(["system", "user", "assistant"])


class StoreMachine(RuleBasedStateMachine):
    """The model: the expected chunks by key, all keys ever used, and which chunks have a vector."""

    kind = STORES[0]
    reservations = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        factory = self._open.enter_context(fresh_memory(self.kind, Path(folder)))
        self.stores: list[Store] = [factory(), factory()]
        self.chunks: dict[ChunkKey, Chunk] = {}
        self.used_keys: set[ChunkKey] = set()
        self.with_vector: set[ChunkKey] = set()
        self.forgotten_positions: set[int] = set()
        self.next_turn, self.next_position = self.stores[0].stats().next_turn, self.stores[0].stats().next_position

    def teardown(self) -> None:
        findings = self.stores[0].verify()
        self._open.close()
        assert findings == []

    @rule(target=reservations, count=st.integers(1, 30), handle=st.integers(0, 1))
    def reserve(self, count: int, handle: int) -> Reservation:
        reservation = self.stores[handle].reserve(count)
        assert reservation == Reservation(
            self.next_turn, self.next_turn + 1, self.next_position, self.next_position + count
        )
        self.next_turn, self.next_position = reservation.turn_assistant + 1, reservation.position_end
        return reservation

    @rule(distance=st.sampled_from([1, 2**64, 2**2040]))
    def advance(self, distance: int) -> None:
        self.next_turn, self.next_position = self.next_turn + distance, self.next_position + distance
        self.stores[0].advance(next_turn=self.next_turn, next_position=self.next_position)

    @rule(
        reservation=reservations,
        index=st.integers(0, 2),
        role=roles,
        offset=st.integers(0, 25),
        texts=st.lists(tokens, min_size=1, max_size=3),
        handle=st.integers(0, 1),
    )
    def write(
        self, reservation: Reservation, index: int, role: Role, offset: int, texts: list[list[Token]], handle: int
    ) -> None:
        made, first = [], reservation.position_start + offset
        for place, text in enumerate(texts):
            key = ChunkKey(reservation.turn_user, index + place, role)
            made.append(Chunk.of_tokens(key, text, first_position=first, time=TIME))
            first += len(text)
        if self._can_be_written(made):
            self.stores[handle].write_chunks(made)
            self.chunks |= {chunk.key: chunk for chunk in made}
            self.used_keys |= {chunk.key for chunk in made}
        else:
            with pytest.raises((StoreConflict, InputError)):
                self.stores[handle].write_chunks(made)

    @precondition(lambda self: self.chunks)
    @rule(data=st.data(), undo=st.booleans())
    def delete(self, data: st.DataObject, undo: bool) -> None:
        keys = data.draw(st.lists(st.sampled_from(sorted(self.chunks)), unique=True, max_size=3))
        expected = tuple(key for key in keys if self.chunks[key].deleted == undo)
        store = self.stores[0]
        changed = (store.undelete if undo else store.delete)(keys, "model").changed
        assert changed == expected
        for key in changed:
            kept = store.chunk(key)
            assert kept is not None
            self.chunks[key] = msgspec.structs.replace(
                self.chunks[key],
                deleted=not undo,
                deleted_at=kept.chunk.deleted_at,
                undeleted_at=kept.chunk.undeleted_at,
            )
            self.with_vector.discard(key)

    @precondition(lambda self: self.chunks)
    @rule(data=st.data(), handle=st.integers(0, 1))
    def forget(self, data: st.DataObject, handle: int) -> None:
        key = data.draw(st.sampled_from(sorted(self.chunks)))
        if not self.chunks[key].deleted:
            with pytest.raises(InputError):
                self.stores[handle].forget([key], "model")
            return
        self.stores[handle].forget([key], "model")
        gone = self.chunks.pop(key)
        self.forgotten_positions |= set(range(gone.first_position, gone.end_position))

    @precondition(lambda self: len(self.chunks) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        in_order = sorted(self.chunks.values(), key=lambda chunk: chunk.first_position)
        place = data.draw(st.integers(0, len(in_order) - 2))
        left, right = in_order[place], in_order[place + 1]
        if not _can_be_merged(left, right):
            with pytest.raises(InputError):
                self.stores[0].merge(left.key, right.key, "model")
            return
        self.stores[0].merge(left.key, right.key, "model")
        merged = Chunk.of_tokens(
            left.key, left.tokens() + right.tokens(), first_position=left.first_position, time=left.time
        )
        del self.chunks[right.key]
        self.chunks[left.key] = msgspec.structs.replace(
            merged, deleted_at=left.deleted_at, undeleted_at=left.undeleted_at
        )
        self.with_vector -= {left.key, right.key}

    @precondition(lambda self: self.chunks)
    @rule(data=st.data())
    def put_vector(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.chunks)))
        stored = self.stores[1].chunk(key)
        assert stored is not None
        kept = self.stores[1].put_vectors(EMBEDDER, {stored.id: np.ones(2, dtype=np.float16)})
        assert kept == ([] if stored.chunk.deleted else [stored.id])
        if kept:
            self.with_vector.add(key)

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        living = {
            chunk.first_position + place: PlacedToken(chunk.first_position + place, token.id, token.text, chunk.key)
            for chunk in self.chunks.values()
            if not chunk.deleted
            for place, token in enumerate(chunk.tokens())
        }
        near = sorted({position + step for position in living for step in (-1, 0, 1) if position + step >= 0} | {0})
        wanted = data.draw(st.lists(st.sampled_from(near)))
        expected = [living[position] for position in sorted(set(wanted)) if position in living]
        assert self.stores[1].tokens_by_positions(wanted) == expected

    @invariant()
    def the_record_is_the_models(self) -> None:
        expected = [
            msgspec.structs.replace(chunk, embedder=EMBEDDER if chunk.key in self.with_vector else None)
            for chunk in sorted(self.chunks.values(), key=lambda chunk: chunk.first_position)
        ]
        stored = self.stores[1].chunks_from(0, 1000)
        assert [one.chunk for one in stored] == expected
        found = {match.id for match in self.stores[0].search_words(["hill"], 1000)}
        assert found == {one.id for one in stored if _has_hill(one.chunk)}
        lacking = [one.id for one in stored if not one.chunk.deleted and one.chunk.embedder is None]
        assert self.stores[0].ids_without_vector(EMBEDDER) == sorted(lacking)

    def _can_be_written(self, made: list[Chunk]) -> bool:
        taken = self.forgotten_positions | {
            position for chunk in self.chunks.values() for position in range(chunk.first_position, chunk.end_position)
        }
        return all(
            chunk.key not in self.used_keys
            and chunk.end_position <= self.next_position
            and taken.isdisjoint(range(chunk.first_position, chunk.end_position))
            for chunk in made
        )


def _can_be_merged(left: Chunk, right: Chunk) -> bool:
    return (
        (left.key.turn, left.key.role) == (right.key.turn, right.key.role)
        and left.end_position == right.first_position
        and not left.deleted
        and not right.deleted
    )


def _has_hill(chunk: Chunk) -> bool:
    return not chunk.deleted and "hill" in chunk.text.split()


class SqliteMachine(StoreMachine):
    kind = "sqlite"


TestSqliteModel = SqliteMachine.TestCase
TestSqliteModel.settings = settings(
    max_examples=20, stateful_step_count=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
