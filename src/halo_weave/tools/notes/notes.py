"""The notes: one JSON document of the memory, read and changed with jq, in versions that can be taken back."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.notes import NotesStore
from halo_weave.records.chunks import utc_now
from halo_weave.records.notes import NotesOutline, NotesRecord
from halo_weave.tools.jq.process import JqProcess, JqTooLarge
from halo_weave.tools.notes.changes import GONE, Change, changes, decoded, in_words, plain

__all__ = ["GONE", "LARGEST_DOCUMENT_BYTES", "LARGEST_TEXT", "Change", "Notes", "NotesChange"]

LARGEST_DOCUMENT_BYTES = 256 * 1024
LARGEST_TEXT = 8 * LARGEST_DOCUMENT_BYTES
"""In characters, before spaces between its parts are taken out."""
REPLACE = "replace"
_UNDO = re.compile(r"undo ([0-9]{1,18})")
_ATTEMPTS = 50
_KINDS = {"[": "an array", '"': "a string", "t": "true", "f": "false", "n": "null"}


class NotesChange(NamedTuple):
    """The version that the notes have now, and what is different in it; nothing if they stayed as they were."""

    version: int
    changes: list[Change]

    def in_words(self) -> str:
        """On one line of bounded length."""
        return in_words(self.changes)


class Notes:
    """May be used from several threads, and by several processes on one memory."""

    def __init__(self, store: NotesStore, jq: JqProcess, clock: Callable[[], datetime] = utc_now) -> None:
        self._store = store
        self._jq = jq
        self._clock = clock

    def read(self) -> NotesRecord:
        return self._store.notes()

    def version(self, version: int) -> NotesRecord:
        record = self._store.notes_version(version)
        if record is None:
            raise InputError(f"There is no version {version} of the notes.")
        return record

    def history(self, before: int | None = None, limit: int = 50) -> list[NotesOutline]:
        """The newest first."""
        return self._store.notes_history(before, limit)

    def query(self, filter_text: str) -> list[Any]:
        """The results of a jq filter on the notes."""
        return [plain(text) for text in self._jq.run(filter_text, self.read().document)]

    def query_texts(self, filter_text: str) -> list[str]:
        """The same as JSON texts, in which numbers have all their digits."""
        texts = self._jq.run(filter_text, self.read().document)
        for text in texts:
            decoded(text)
        return texts

    def patch(self, filter_text: str, origin: str, expected_version: int | None = None) -> NotesChange:
        """Let the notes be what a jq filter makes of them, which has to be one object.

        If somebody else changed them meanwhile, the filter is run on what they are now; but if `expected_version` is
        given, that is a StoreConflict.
        """
        for _ in range(_ATTEMPTS):
            before = self._expected(expected_version)
            after = self._one_object(filter_text, before.document)
            try:
                return self._put(before, after, origin, filter_text)
            except StoreConflict as conflict:
                if expected_version is not None:
                    raise
                met = conflict
        raise met

    def replace(self, document: str, expected_version: int, origin: str) -> NotesChange:
        """StoreConflict if the notes have another version; InputError if the text is not one JSON object."""
        before = self._expected(expected_version)
        if len(document) > LARGEST_TEXT:
            raise _too_large()
        if not isinstance(decoded(document), dict):
            raise InputError("The notes must be one JSON object; nothing was changed.")
        (as_jq_writes_it,) = self._limited(".", document)  # as what is there is written, to be compared with it
        return self._put(before, as_jq_writes_it, origin, REPLACE)

    def undo(self, origin: str, expected_version: int | None = None) -> NotesChange:
        """Take the last change back by a new version that is as the notes were before it; again goes further back.

        A later change is taken back first, then what was before the undo. What was undone is still in the history.
        """
        now = self._expected(expected_version)
        version = _undone_to(now)
        if version == 0:
            raise InputError("There is no change to the notes to undo.")
        before = self.version(version - 1)
        return self._put_again(now, before, origin, f"undo {_undone_to(before)}")

    def restore(self, version: int, origin: str, expected_version: int | None = None) -> NotesChange:
        """Let the notes be as they were in a version; itself a change that can be undone."""
        now = self._expected(expected_version)
        return self._put_again(now, self.version(version), origin, f"restore {version}")

    def _expected(self, version: int | None) -> NotesRecord:
        record = self._store.notes()
        if version is not None and record.version != version:
            raise StoreConflict(
                f"The notes are at version {record.version}, not {version}: they were changed in the meantime. Nothing "
                "was changed."
            )
        return record

    def _one_object(self, filter_text: str, document: str) -> str:
        results = self._limited(filter_text, document)
        if len(results) != 1:
            raise InputError(
                f"The filter returned {len(results) or 'no'} results, but the notes must be exactly one object; "
                "nothing was changed."
            )
        (result,) = results
        if not result.startswith("{"):
            kind = _KINDS.get(result[0], "a number")
            raise InputError(f"The filter returned {kind}, but the notes must be one object; nothing was changed.")
        return result

    def _put(self, before: NotesRecord, after: str, origin: str, command: str) -> NotesChange:
        changed = changes(decoded(before.document), decoded(after))
        if not changed:
            return NotesChange(before.version, [])
        time = self._clock()
        (stamped,) = self._limited(_stamp(time), after)
        return NotesChange(self._write(before, stamped, origin, command, time), changed)

    def _put_again(self, now: NotesRecord, earlier: NotesRecord, origin: str, command: str) -> NotesChange:
        version = self._write(now, earlier.document, origin, command, self._clock())
        return NotesChange(version, changes(decoded(now.document), decoded(earlier.document)))

    def _write(self, before: NotesRecord, document: str, origin: str, command: str, time: datetime) -> int:
        return self._store.put_notes(
            document, expected_version=before.version, origin=origin, command=command, time=time
        )

    def _limited(self, filter_text: str, document: str) -> list[str]:
        try:
            return self._jq.run(filter_text, document, most_bytes=LARGEST_DOCUMENT_BYTES)
        except JqTooLarge:
            raise _too_large() from None


def _too_large() -> InputError:
    return InputError(f"The notes would exceed the limit of {LARGEST_DOCUMENT_BYTES // 1024} KB; nothing was changed.")


def _undone_to(record: NotesRecord) -> int:
    """The version that this one is, if it came about by undoing; else itself."""
    undone = _UNDO.fullmatch(record.command)
    return int(undone[1]) if undone and int(undone[1]) < record.version else record.version


def _stamp(time: datetime) -> str:
    moment = json.dumps(f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return (
        'if (._metadata | type) == "object" '
        f"then ._metadata.created //= {moment} | ._metadata.last_modified = {moment} else . end"
    )
