"""The notes at rest: one JSON document of the memory, in all its versions."""

from datetime import datetime
from typing import Protocol

from halo_weave.records.notes import NotesOutline, NotesRecord


class NotesStore(Protocol):
    def notes(self) -> NotesRecord:
        """The newest version; version 0 and the default document if none was written."""
        ...

    def put_notes(
        self, document: str, *, expected_version: int, origin: str, command: str, time: datetime | None = None
    ) -> int:
        """Write the version after `expected_version` and give its number; without `time` it is of now.

        StoreConflict, and nothing is written, if another version is the newest. What is in the document is the
        business of who writes it.
        """
        ...

    def notes_version(self, version: int) -> NotesRecord | None:
        """Of any version that there was, 0 too."""
        ...

    def notes_history(self, before: int | None = None, limit: int = 100) -> list[NotesOutline]:
        """Versions that were written, the newest first, all of them or those before one."""
        ...
