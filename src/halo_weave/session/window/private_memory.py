# ruff: noqa: ARG002 (the protocol names a window and an origin; here there is only one of each)
"""The memory of a private window: it reads everything that was ever said and keeps its own words in this process.

Nothing of the window reaches a file: not its text, its state, its journal, nor numbers reserved for it. Its own turns
and positions start far behind those of the shared memory, so that both can grow without ever having a number in common.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.memory.search.search import Hit, Recollection
from halo_weave.memory.store.windows import WindowStore
from halo_weave.records.chunks import AuditEntry, Changed, Chunk, ChunkKey, Reservation, Stats, Stored
from halo_weave.records.roles import Role
from halo_weave.session.window.private_store import PrivateWindowStore

_TURNS_APART, _POSITIONS_APART = 10**9, 10**15
MOST_BYTES = 64 * 1024 * 1024
"""Limit of the text that one private window keeps."""
_REFUSAL = "This window is private, so nothing in the memory can be changed from it; use another window for that."


class PrivateMemory(Memory):
    """Thread-safe. Chunks of the shared memory can be read and returned, but not changed, from here.

    Searching finds the shared memory alone: what was said privately is neither indexed nor embedded. All methods that a
    window uses are overridden. The others belong to the owner of the shared memory; here they fail, because there is
    no store, so that none of them can write anything.
    """

    def __init__(self, shared: Memory, clock: Callable[[], datetime]) -> None:
        # Without that of `Memory`, which would open queues and indexes of its own.
        self._shared = shared
        self._clock = clock
        self._chunks: dict[ChunkKey, Stored] = {}
        self._bytes = 0
        self._lock = threading.RLock()
        stats = shared.stats()
        self._next_turn = stats.next_turn + _TURNS_APART
        self._next_position = stats.next_position + _POSITIONS_APART
        self._window_store = PrivateWindowStore(shared.window_store, self._own, self.chunks_by_keys)

    @property
    def window_store(self) -> WindowStore:
        return self._window_store

    def reserve(self, tokens: int) -> Reservation:
        with self._lock:
            if self._bytes > MOST_BYTES:
                raise InputError(
                    f"This private window holds {self._bytes:,} bytes of text, more than the limit of {MOST_BYTES:,}; "
                    "open a new private window to continue."
                )
            turn, position = self._next_turn, self._next_position
            self._next_turn, self._next_position = turn + 2, position + tokens
        return Reservation(turn, turn + 1, position, position + tokens)

    def write(self, chunks: Sequence[Chunk]) -> list[int]:
        """Keep the chunks; returns no ids, because nothing here is embedded."""
        with self._lock:
            for chunk in chunks:
                self._bytes += len(chunk.text.encode())
                self._chunks[chunk.key] = Stored(-1 - len(self._chunks), chunk)
        return []

    def embed_later(self, ids: Iterable[int]) -> None:
        pass

    def recollect(self, message: str, *, limit: int) -> Recollection:
        return self._shared.recollect(message, limit=limit)

    def search(
        self,
        text: str,
        *,
        limit: int = 50,
        roles: Collection[Role] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        mmr_lambda: float | None = None,
    ) -> list[Hit]:
        return self._shared.search(
            text,
            limit=limit,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            mmr_lambda=mmr_lambda,
        )

    def stats(self) -> Stats:
        """Those of the shared memory."""
        return self._shared.stats()

    def with_words(self, hits: Iterable[Hit], text: str) -> list[Hit]:
        return self._shared.with_words(hits, text)

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, deleted=True)

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, deleted=False)

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        with self._lock:
            self._require_own((left, right))
            one, other = self._chunks[left], self._chunks[right]
            if one.chunk.end_position != other.chunk.first_position:
                raise InputError(f"Chunk {right} cannot be merged: it does not follow chunk {left} directly.")
            chunk = Chunk.of_tokens(
                left,
                [*one.chunk.tokens(), *other.chunk.tokens()],
                first_position=one.chunk.first_position,
                time=one.chunk.time,
                metadata=one.chunk.metadata,
            )
            del self._chunks[right]
            self._chunks[left] = merged = Stored(one.id, chunk)
            return merged

    def chunk(self, key: ChunkKey) -> Stored | None:
        with self._lock:
            own = self._chunks.get(key)
        return own or self._shared.chunk(key)

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        return self._own_of([turn]) or self._shared.chunks_of_turn(turn)

    def chunks_of_turns(self, turns: Iterable[int]) -> list[Stored]:
        wanted = set(turns)
        return [*self._shared.chunks_of_turns(wanted), *self._own_of(wanted)]

    def chunks_by_keys(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Stored]:
        wanted = list(keys)
        with self._lock:
            own = {key: self._chunks[key] for key in wanted if key in self._chunks}
        return {**self._shared.chunks_by_keys(key for key in wanted if key not in own), **own}

    def next_index(self, turn: int, role: Role) -> int:
        with self._lock:
            taken = [key.index for key in self._chunks if (key.turn, key.role) == (turn, role)]
        return max(taken, default=-1) + 1

    def audit(self, after: int) -> list[AuditEntry]:
        return self._shared.audit(after)

    def _own(self) -> list[Stored]:
        with self._lock:
            return list(self._chunks.values())

    def _own_of(self, turns: Iterable[int]) -> list[Stored]:
        wanted = set(turns)
        with self._lock:
            own = [stored for key, stored in self._chunks.items() if key.turn in wanted]
        return sorted(own, key=lambda stored: stored.chunk.first_position)

    def _set_deleted(self, keys: Sequence[ChunkKey], *, deleted: bool) -> Changed:
        with self._lock:
            self._require_own(keys)
            changed = [key for key in keys if self._chunks[key].chunk.deleted is not deleted]
            for key in changed:
                stored = self._chunks[key]
                now = {"deleted_at" if deleted else "undeleted_at": self._clock()}
                self._chunks[key] = stored._replace(chunk=msgspec.structs.replace(stored.chunk, deleted=deleted, **now))
        return Changed(tuple(changed), tuple(key for key in keys if key not in changed))

    def _require_own(self, keys: Iterable[ChunkKey]) -> None:
        if any(key not in self._chunks for key in keys):
            raise InputError(_REFUSAL)
