"""Windows at rest, what they buried, and journals of what is under way in them.

What is in a window's state and journal is the business of who writes it.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.windows import (
    BurialGap,
    BurialPlace,
    BurialRecord,
    JournalEntry,
    WindowOutline,
    WindowRecord,
)


class WindowStore(Protocol):
    def put_window(
        self,
        window: WindowRecord,
        *,
        durable: bool = True,
        buried: Sequence[BurialRecord] = (),
        raised: Sequence[ChunkKey] = (),
    ) -> int:
        """Save a window that was read as `window.version`, 0 if it is new; gives its version from now on.

        With it, or not at all, goes what it buried since it was saved last, and what it buried once and no longer does;
        its other burials stay. StoreConflict if somebody else saved or deleted it since. Without `durable` it survives
        the end of the process at once, and that of the machine a little later.
        """
        ...

    def window(self, window_id: str) -> WindowRecord | None: ...

    def window_version(self, window_id: str) -> int:
        """How often the window was saved; 0 if there is none. Reads nothing else of it."""
        ...

    def windows(self) -> list[WindowOutline]:
        """The one saved last comes first."""
        ...

    def delete_window(self, window_id: str) -> bool:
        """With its burials and its journal; says whether there was such a window."""
        ...

    def burials(self, window_id: str, *, before: BurialPlace | None = None, limit: int = 1000) -> list[BurialRecord]:
        """What a window buried, the newest first; to walk over all, go on before the last one's `place`.

        What is forgotten is no longer there; what was deleted or merged since is, until the window is told.
        """
        ...

    def burials_by_keys(self, window_id: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        """Those of these chunks that the window buried."""
        ...

    def count_burials(self, window_id: str) -> int: ...

    def burial_gaps(self, window_id: str, positions: Sequence[int], *, keys: int) -> list[BurialGap | None]:
        """What is buried before each of these ascending positions, and behind the last; None where nothing is.

        What is buried at one of them counts nowhere, nor does what was deleted or merged away since.
        """
        ...

    def journal_append(self, window_id: str, turn: int, payload: bytes) -> None:
        """Note down something about a turn under way; survives the end of the process, not always of the machine.

        The window need not have been saved.
        """
        ...

    def journal(self, window_id: str) -> list[JournalEntry]:
        """In the order in which it was written."""
        ...

    def journal_clear(self, window_id: str, turn: int) -> None:
        """Take out what is about this turn. If the machine fails just then, it may be there once more."""
        ...
