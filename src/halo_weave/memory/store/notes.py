"""Storage of the notes: one JSON document per memory, with all its versions."""

from datetime import datetime
from typing import Protocol

from halo_weave.records.notes import NotesOutline, NotesRecord


class NotesStore(Protocol):
    def notes(self) -> NotesRecord:
        """Return the newest version, or version 0 with the default document if none was written."""
        ...

    def put_notes(
        self, document: str, *, expected_version: int, origin: str, command: str, time: datetime | None = None
    ) -> int:
        """Write the version after `expected_version` and return its number. `time` defaults to now.

        Raises StoreConflict, and writes nothing, if another version is the newest. The store does not interpret the
        document.
        """
        ...

    def notes_version(self, version: int) -> NotesRecord | None:
        """Return any existing version, including version 0."""
        ...

    def notes_history(self, before: int | None = None, limit: int = 100) -> list[NotesOutline]:
        """Return the written versions, newest first; only those before version `before` if it is given."""
        ...
