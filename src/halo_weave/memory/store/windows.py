"""Storage of windows, their burials and timelines, and the journals of turns under way.

The store does not interpret a window's state, timeline or journal.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from halo_weave.records.chunks import ChunkKey
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

TIMELINE_BYTES = 1024 * 1024
"""Limit of one window's timeline: its oldest entries leave, and the newest always stays."""


class WindowStore(Protocol):
    def put_window(
        self,
        window: WindowRecord,
        *,
        durable: bool = True,
        buried: Sequence[BurialRecord] = (),
        raised: Sequence[ChunkKey] = (),
        timeline: bytes = b"",
    ) -> int:
        """Save a window whose last read version is `window.version` (0 if new) and return its new version.

        The same transaction adds the burials since the last save and removes the `raised` ones; other burials stay.
        Unless `timeline` is empty, it becomes the newest entry of the window's timeline, numbered by the new version.
        Raises StoreConflict if the window was saved or deleted elsewhere since it was read. Without `durable`, the save
        survives a process crash at once, and a machine crash only a little later.
        """
        ...

    def window(self, window_id: str) -> WindowRecord | None: ...

    def window_version(self, window_id: str) -> int:
        """Return the number of saves, 0 if there is no such window. Reads nothing else."""
        ...

    def windows(self) -> list[WindowOutline]:
        """Return all windows, most recently saved first."""
        ...

    def place_windows(self, folder: str, window_ids: Sequence[str]) -> None:
        """Put these windows into a folder in this order; the folder's other windows have no place any more.

        This is not a save of the windows, whose versions stay. Raises StoreConflict if one of them does not exist.
        """
        ...

    def file_window(self, window_id: str, folder: str) -> None:
        """Move a window into a folder, without a place there; an empty name stands for outside of folders."""
        ...

    def delete_window(self, window_id: str) -> bool:
        """Delete a window with its burials, timeline and journal; returns whether it existed."""
        ...

    def burials(self, window_id: str, *, before: BurialPlace | None = None, limit: int = 1000) -> list[BurialRecord]:
        """Return a window's burials, newest first. To iterate over all, pass the last one's `place` as `before`.

        Forgotten chunks are not included. Chunks deleted or merged since are included until the window learns of it.
        """
        ...

    def burials_by_keys(self, window_id: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        """Return those of these chunks that the window buried."""
        ...

    def count_burials(self, window_id: str) -> int: ...

    def burial_gaps(self, window_id: str, positions: Sequence[int], *, keys: int) -> list[BurialGap | None]:
        """Summarise the burials before each of these ascending positions, and after the last; None where there are
        none.

        Burials at one of the positions do not count, nor do chunks that were deleted or merged away since.
        """
        ...

    def timeline(
        self, window_id: str, *, before: int | None = None, after: int = 0, limit: int = 1000
    ) -> list[TimelineEntry]:
        """Return entries with numbers below `before` and above `after`, newest first.

        Ends early where an entry is missing, because a repair set it aside: older entries no longer lead to the newer
        ones.
        """
        ...

    def chunks_of_window(
        self,
        window_id: str,
        *,
        before: ChunkKey | None = None,
        after: ChunkKey | None = None,
        limit: int,
        most_bytes: int,
    ) -> ChunkPage:
        """Return chunks that the window wrote, in order of turn and index, without deleted and merged ones.

        The last ones before `before`, or the first ones after `after`; without either, the newest. At most `limit`, and
        no more than fit into `most_bytes` of text, but at least one. Neither key has to exist. The cost does not depend
        on the size of the memory.
        """
        ...

    def journal_append(self, window_id: str, turn: int, payload: bytes) -> None:
        """Append an entry about a turn under way. It survives a process crash, but not always a machine crash.

        The window need not have been saved.
        """
        ...

    def journal_replace(self, window_id: str, turn: int, payload: bytes) -> None:
        """Put this entry in the place of all entries of the turn, at once. It is as durable as an appended one."""
        ...

    def journal(self, window_id: str) -> list[JournalEntry]:
        """Return the entries in the order in which they were written."""
        ...

    def journal_clear(self, window_id: str, turn: int) -> None:
        """Remove the entries of this turn. After a machine crash they may reappear."""
        ...
