"""Windows at rest, and journals of what is under way in them. What is in either is the business of who writes it."""

from typing import Protocol

from halo_weave.memory.window_records import JournalEntry, WindowOutline, WindowRecord


class WindowStore(Protocol):
    def put_window(self, window: WindowRecord, *, durable: bool = True) -> int:
        """Save a window that was read as `window.version`, 0 if it is new; gives its version from now on.

        StoreConflict if somebody else saved or deleted it since. Without `durable` it survives the end of the process
        at once, and that of the machine a little later.
        """
        ...

    def window(self, window_id: str) -> WindowRecord | None: ...

    def windows(self) -> list[WindowOutline]:
        """The one saved last comes first."""
        ...

    def delete_window(self, window_id: str) -> bool:
        """With its journal; says whether there was such a window."""
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
