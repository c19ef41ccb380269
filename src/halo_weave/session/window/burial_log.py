"""A window's burials. The saved ones are in the store; this holds only the changes since the last save."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.windows import BurialGap, BurialPlace, BurialRecord

_PAGE = 1000


class BurialTotals(NamedTuple):
    chunks: int
    tokens: int


class BurialLog(Mapping[ChunkKey, BurialRecord]):
    """Behaves as if it held all burials. Iterating takes time proportional to their number, and so may counting.

    `lock` is the one under which the saved burials and the unsaved changes are read as one.
    """

    def __init__(self, memory: Memory, window_id: str, lock: threading.RLock) -> None:
        self._memory = memory
        self._window_id = window_id
        self._lock = lock
        self._changed: dict[ChunkKey, BurialRecord | None] = {}
        """None for a chunk that is no longer buried."""
        self._totals: BurialTotals | None = None
        """None if they have to be counted again."""

    def __getitem__(self, key: ChunkKey) -> BurialRecord:
        return self.among([key])[key]

    def __iter__(self) -> Iterator[ChunkKey]:
        """Newest first."""
        page = self.page(None, _PAGE)
        while page:
            yield from (burial.key for burial in page)
            page = self.page(page[-1].place, _PAGE)

    def __len__(self) -> int:
        with self._lock:
            saved = self._memory.window_store.burials_by_keys(self._window_id, self._changed)
            added = sum(burial is not None for burial in self._changed.values())
            return self._memory.window_store.count_burials(self._window_id) - len(saved) + added

    def totals(self) -> BurialTotals:
        """Without chunks that were deleted or merged away since. Counted once, then kept up to date."""
        with self._lock:
            if self._totals is None:
                (everything,) = self.gaps(())
                self._totals = BurialTotals(*((everything.chunks, everything.tokens) if everything else (0, 0)))
            return self._totals

    def among(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        """The burials of those chunks that are buried."""
        asked = dict.fromkeys(keys)
        with self._lock:
            unchanged = [key for key in asked if key not in self._changed]
            saved = self._memory.window_store.burials_by_keys(self._window_id, unchanged)
            found = {key: self._changed[key] if key in self._changed else saved.get(key) for key in asked}
        return {key: burial for key, burial in found.items() if burial is not None}

    def page(self, before: BurialPlace | None, limit: int) -> list[BurialRecord]:
        """A page of burials, newest first; pass the `place` of the last one as `before` to get the next page."""
        with self._lock:
            saved = self._memory.window_store.burials(self._window_id, before=before, limit=limit + len(self._changed))
            changed = dict(self._changed)
        unchanged = [burial for burial in saved if burial.key not in changed]
        added = [burial for burial in changed.values() if burial is not None]
        own = (burial for burial in added if before is None or burial.place < before)
        return nlargest(limit, (*unchanged, *own), key=lambda burial: burial.place)

    def gaps(self, living: Sequence[int], *, keys: int = 0) -> list[BurialGap | None]:
        """The burials before each of these ascending positions and after the last, each with its first `keys` keys."""
        places = set(living)
        with self._lock:
            added = [burial for burial in self._changed.values() if burial is not None]
            # Unsaved burials split the gaps as living chunks do, so that an older saved burial of one does not count.
            dividing = {burial.first_position: burial for burial in added if burial.first_position not in places}
        # The lock is not needed here: burials that are saved in the meantime already split the gaps.
        bounds = sorted({*places, *dividing})
        saved = self._memory.window_store.burial_gaps(self._window_id, bounds, keys=keys)
        found: list[BurialGap | None] = [None]
        for gap, bound in zip(saved, [*bounds, None], strict=True):
            found[-1] = _joined(found[-1], gap, keys)
            if bound in dividing:
                found[-1] = _joined(found[-1], self._alone(dividing[bound], keys), keys)
            elif bound is not None:
                found.append(None)
        return found

    def bury(self, burial: BurialRecord) -> None:
        with self._lock:
            if self._totals is not None and not self.among([burial.key]):
                self._count([burial.key], 1)
            self._changed[burial.key] = burial

    def exhume(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        """Remove these chunks from the burials; returns those that were buried."""
        with self._lock:
            found = self.among(keys)
            self._changed.update(dict.fromkeys(found))
            self._count(found, -1)
        return found

    def unsaved(self) -> tuple[list[BurialRecord], list[ChunkKey]]:
        """The burials added and the keys removed since the last save."""
        buried = [burial for burial in self._changed.values() if burial is not None]
        return buried, [key for key, burial in self._changed.items() if burial is None]

    def note_saved(self) -> None:
        self._changed.clear()

    def discard_unsaved(self) -> None:
        with self._lock:
            self._changed.clear()
            self._totals = None

    def _count(self, keys: Iterable[ChunkKey], sign: int) -> None:
        """Add or subtract chunks. Those that were deleted or merged meanwhile may or may not be in the totals."""
        if self._totals is None:
            return
        asked = list(keys)
        stored = self._memory.chunks_by_keys(asked)
        if len(stored) < len(asked) or any(entry.chunk.deleted for entry in stored.values()):
            self._totals = None
            return
        chunks, tokens = self._totals
        found = sum(entry.chunk.token_count for entry in stored.values())
        self._totals = BurialTotals(chunks + sign * len(asked), tokens + sign * found)

    def _alone(self, burial: BurialRecord, keys: int) -> BurialGap | None:
        stored = self._memory.chunk(burial.key)
        if stored is None or stored.chunk.deleted:
            return None
        chunk = stored.chunk
        return BurialGap(1, chunk.token_count, chunk.time, chunk.time, burial, (burial.key,)[:keys])


def _joined(left: BurialGap | None, right: BurialGap | None, keys: int) -> BurialGap | None:
    if left is None or right is None:
        return left or right
    return BurialGap(
        chunks=left.chunks + right.chunks,
        tokens=left.tokens + right.tokens,
        since=min(left.since, right.since),
        until=max(left.until, right.until),
        newest=max(left.newest, right.newest, key=lambda burial: burial.time),
        keys=(left.keys + right.keys)[:keys],
    )
