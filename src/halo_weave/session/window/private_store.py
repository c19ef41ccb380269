# ruff: noqa: ARG002 (the protocol names a window and an origin; here there is only one of each)
"""A private window at rest: its state, burials, timeline and journal, in this process alone."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate, pairwise

import msgspec

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.windows import TIMELINE_BYTES, WindowStore
from halo_weave.records.chunks import Chunk, ChunkKey, Stored
from halo_weave.records.windows import (
    BurialGap,
    BurialPlace,
    BurialRecord,
    ChunkPage,
    JournalEntry,
    TimelineEntry,
    WindowOutline,
    WindowRecord,
)

_NOT_MOVED = "A private window cannot be moved: it always stands at the top of the list."


class PrivateWindowStore:
    """The store of one window, whose id every call names. `windows` also lists those of the shared store."""

    def __init__(
        self,
        shared: WindowStore,
        own_chunks: Callable[[], list[Stored]],
        chunks_by_keys: Callable[[Iterable[ChunkKey]], dict[ChunkKey, Stored]],
    ) -> None:
        self._shared = shared
        self._own_chunks = own_chunks
        self._chunks_by_keys = chunks_by_keys
        self._record: WindowRecord | None = None
        self._burials: dict[ChunkKey, BurialRecord] = {}
        self._timeline: list[TimelineEntry] = []
        self._journal: defaultdict[int, list[bytes]] = defaultdict(list)
        self._lock = threading.Lock()

    def put_window(
        self,
        window: WindowRecord,
        *,
        durable: bool = True,
        buried: Sequence[BurialRecord] = (),
        raised: Sequence[ChunkKey] = (),
        timeline: bytes = b"",
    ) -> int:
        with self._lock:
            if self._version != window.version:
                raise StoreConflict(f"Window {window.id} was saved since version {window.version}.")
            self._record = msgspec.structs.replace(window, version=window.version + 1)
            for key in raised:
                self._burials.pop(key, None)
            self._burials |= {burial.key: burial for burial in buried}
            if timeline:
                self._append(TimelineEntry(self._version, self._newest_change, window.saved_at, timeline))
            return self._record.version

    def window(self, window_id: str) -> WindowRecord | None:
        return self._record

    def window_version(self, window_id: str) -> int:
        return self._version

    def windows(self) -> list[WindowOutline]:
        own = self._record
        outline = [] if own is None else [WindowOutline(own.id, own.name, own.version, own.saved_at, len(own.state))]
        return [*outline, *self._shared.windows()]

    def place_windows(self, folder: str, window_ids: Sequence[str]) -> None:
        raise InputError(_NOT_MOVED)

    def file_window(self, window_id: str, folder: str) -> None:
        raise InputError(_NOT_MOVED)

    def delete_window(self, window_id: str) -> bool:
        with self._lock:
            existed, self._record = self._record is not None, None
            self._burials.clear()
            self._timeline.clear()
            self._journal.clear()
            return existed

    def burials(self, window_id: str, *, before: BurialPlace | None = None, limit: int = 1000) -> list[BurialRecord]:
        with self._lock:
            found = [burial for burial in self._burials.values() if before is None or burial.place < before]
        return nlargest(limit, found, key=lambda burial: burial.place)

    def burials_by_keys(self, window_id: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        with self._lock:
            return {key: self._burials[key] for key in keys if key in self._burials}

    def count_burials(self, window_id: str) -> int:
        return len(self._burials)

    def burial_gaps(self, window_id: str, positions: Sequence[int], *, keys: int) -> list[BurialGap | None]:
        with self._lock:
            buried = sorted(self._burials.values(), key=lambda burial: burial.first_position)
        stored = self._chunks_by_keys(burial.key for burial in buried)
        lying = [burial for burial in buried if burial.key in stored and not stored[burial.key].chunk.deleted]
        chunks = {key: entry.chunk for key, entry in stored.items()}
        bounds = [-1, *positions, None]
        return [_gap(lying, chunks, start, end, keys) for start, end in pairwise(bounds)]

    def chunks_of_window(
        self,
        window_id: str,
        *,
        before: ChunkKey | None = None,
        after: ChunkKey | None = None,
        limit: int,
        most_bytes: int,
    ) -> ChunkPage:
        said = sorted((one for one in self._own_chunks() if not one.chunk.deleted), key=lambda one: one.chunk.key)
        if after is not None:
            return _page([one for one in said if one.chunk.key > after], limit, most_bytes)
        page = _page([one for one in said[::-1] if before is None or one.chunk.key < before], limit, most_bytes)
        return page._replace(chunks=page.chunks[::-1])

    def timeline(
        self, window_id: str, *, before: int | None = None, after: int = 0, limit: int = 1000
    ) -> list[TimelineEntry]:
        with self._lock:
            found = [one for one in self._timeline if one.number > after and (before is None or one.number < before)]
        return found[::-1][:limit]

    def journal_append(self, window_id: str, turn: int, payload: bytes) -> None:
        with self._lock:
            self._journal[turn].append(payload)

    def journal_replace(self, window_id: str, turn: int, payload: bytes) -> None:
        with self._lock:
            self._journal[turn] = [payload]

    def journal(self, window_id: str) -> list[JournalEntry]:
        with self._lock:
            return [JournalEntry(turn, payload) for turn, payloads in self._journal.items() for payload in payloads]

    def journal_clear(self, window_id: str, turn: int) -> None:
        with self._lock:
            self._journal.pop(turn, None)

    def _append(self, entry: TimelineEntry) -> None:
        self._timeline.append(entry)
        while len(self._timeline) > 1 and sum(len(one.payload) for one in self._timeline) > TIMELINE_BYTES:
            del self._timeline[0]

    @property
    def _version(self) -> int:
        return 0 if self._record is None else self._record.version

    @property
    def _newest_change(self) -> int:
        return self._timeline[-1].number if self._timeline else 0


def _page(chunks: Sequence[Stored], limit: int, most_bytes: int) -> ChunkPage:
    sizes = accumulate(len(one.chunk.text.encode()) for one in chunks)
    fitting = sum(number < limit and (number == 0 or size <= most_bytes) for number, size in enumerate(sizes))
    return ChunkPage(list(chunks[:fitting]), has_more=fitting < len(chunks))


def _gap(
    buried: Iterable[BurialRecord],
    chunks: Mapping[ChunkKey, Chunk],
    start: int | None,
    end: int | None,
    keys: int,
) -> BurialGap | None:
    within = [
        burial
        for burial in buried
        if (start is None or burial.first_position > start) and (end is None or burial.first_position < end)
    ]
    if not within:
        return None
    times = [chunks[burial.key].time for burial in within]
    return BurialGap(
        chunks=len(within),
        tokens=sum(chunks[burial.key].token_count for burial in within),
        since=min(times),
        until=max(times),
        newest=max(within, key=lambda burial: burial.time),
        keys=tuple(burial.key for burial in within[:keys]),
    )
