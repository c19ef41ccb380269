"""Snapshots while their sources change at random: their content depends on positions alone."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tree import SnapshotChunk
from support.made_up_chunks import TIME, made_up_chunk
from support.store_factories import STORES, fresh_memory

EMBEDDER = "made-up"
paths = st.sampled_from(["a", "a/b", "c"])


class SnapshotMachine(RuleBasedStateMachine):
    """The model: each version's snapshot as it was taken, and the positions deleted or forgotten since."""

    kind = STORES[0]

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        self.store: Store = self._open.enter_context(fresh_memory(self.kind, Path(folder)))()
        self.chunks: dict[ChunkKey, Chunk] = {}
        self.deleted: set[int] = set()
        self.forgotten: set[int] = set()
        self.snapshots: dict[tuple[str, int], list[Chunk]] = {}
        self.heads: dict[str, int] = {}

    def teardown(self) -> None:
        findings = self.store.verify()
        self._open.close()
        assert findings == []

    @rule(chunks=st.integers(1, 4))
    def write(self, chunks: int) -> None:
        reservation = self.store.reserve(chunks * 3 + 2)
        made = [
            made_up_chunk(reservation.turn_user, index, first=reservation.position_start + index * 3, count=3)
            for index in range(chunks)
        ]
        self.store.write_chunks(made)
        self.chunks |= {chunk.key: chunk for chunk in made}

    @precondition(lambda self: self.chunks)
    @rule(data=st.data(), path=paths, with_vector=st.booleans())
    def save(self, data: st.DataObject, path: str, with_vector: bool) -> None:
        keys = data.draw(st.lists(st.sampled_from(sorted(self.chunks)), unique=True, max_size=4))
        chosen = [self.chunks[key] for key in keys]
        vector = np.ones(2, dtype=np.float32) if with_vector else None
        snapshot = [SnapshotChunk(chunk, 0.5, EMBEDDER if with_vector else None, vector) for chunk in chosen]
        version = self.store.put_tree_entry(path, "1", snapshot, time=TIME, origin="model")
        self.snapshots[path, version] = chosen
        self.heads[path] = version

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        path, version = data.draw(st.sampled_from(sorted(self.snapshots)))
        new = self.store.restore_tree_entry(path, version, time=TIME, origin="model")
        self.snapshots[path, new] = self.snapshots[path, version]
        self.heads[path] = new

    @precondition(lambda self: self.chunks)
    @rule(data=st.data(), undo=st.booleans())
    def delete(self, data: st.DataObject, undo: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.chunks)))
        (self.store.undelete if undo else self.store.delete)([key], "model")
        if undo:
            self.deleted -= positions(self.chunks[key])
        else:
            self.deleted |= positions(self.chunks[key])

    @rule()
    def forget(self) -> None:
        for key in self.store.forget_all_deleted("model"):
            self.forgotten |= positions(self.chunks.pop(key))
        self.deleted.clear()

    @precondition(lambda self: len(self.chunks) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        pairs = [
            (left, right)
            for left in self.chunks.values()
            for right in self.chunks.values()
            if left.end_position == right.first_position and left.key.turn == right.key.turn
        ]
        living = [pair for pair in pairs if not self.deleted & (positions(pair[0]) | positions(pair[1]))]
        if living:
            left, right = data.draw(st.sampled_from(living))
            del self.chunks[right.key]
            self.chunks[left.key] = self.store.merge(left.key, right.key, "model").chunk

    @invariant()
    def has_what_is_neither_deleted_nor_forgotten(self) -> None:
        gone = self.deleted | self.forgotten
        expected = {
            place: [chunk.text for chunk in chunks if not positions(chunk) & gone]
            for place, chunks in self.snapshots.items()
        }
        assert {place: [one.text for one in self.store.tree_snapshot(*place)] for place in expected} == expected
        found = self.store.tree_vectors_under("", EMBEDDER)
        searched = self.store.tree_snapshot_chunks([*found.ids, *(number for _, number in found.others)])
        assert sorted(one.text for one in searched.values()) == sorted(
            text for place in self.heads.items() for text in expected[place]
        )
        assert len(searched) == len(found.ids) + len(found.others)


def positions(chunk: Chunk) -> set[int]:
    return set(range(chunk.first_position, chunk.end_position))


SnapshotMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestSnapshots = SnapshotMachine.TestCase
