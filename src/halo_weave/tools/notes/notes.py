"""The notes: one JSON document of the memory, read and changed with jq, with a history of versions."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.notes import NotesStore
from halo_weave.records.chunks import utc_now
from halo_weave.records.notes import NotesOutline, NotesRecord
from halo_weave.text.plain_or_json import is_plain_text
from halo_weave.tools.jq.process import JqProcess, JqTooLarge
from halo_weave.tools.notes.changes import GONE, Change, changes, decoded, in_words, plain

__all__ = ["GONE", "LARGEST_DOCUMENT_BYTES", "LARGEST_TEXT", "Change", "Notes", "NotesChange"]

LARGEST_DOCUMENT_BYTES = 256 * 1024
LARGEST_TEXT = 8 * LARGEST_DOCUMENT_BYTES
"""In characters, before whitespace is removed."""
TEXT = "text"
"""The field of notes that a person wrote as plain text."""
_METADATA = "_metadata"
REPLACE = "replace"
_UNDO = re.compile(r"undo ([0-9]{1,18})")
_ATTEMPTS = 50
_KINDS = {"[": "an array", '"': "a string", "t": "true", "f": "false", "n": "null"}


class NotesChange(NamedTuple):
    """The current version of the notes and what changed in it; no changes if the notes stayed the same."""

    version: int
    changes: list[Change]

    def in_words(self) -> str:
        """Describe the changes on one line of bounded length."""
        return in_words(self.changes)


class Notes:
    """Thread-safe. Several processes may use one memory."""

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
        """Return versions, newest first."""
        return self._store.notes_history(before, limit)

    def query(self, filter_text: str) -> list[Any]:
        """Return the results of a jq filter on the notes."""
        return [plain(text) for text in self._jq.run(filter_text, self.read().document)]

    def query_texts(self, filter_text: str) -> list[str]:
        """Like `query`, but return JSON texts, in which numbers keep all their digits."""
        texts = self._jq.run(filter_text, self.read().document)
        for text in texts:
            decoded(text)
        return texts

    def patch(self, filter_text: str, origin: str, expected_version: int | None = None) -> NotesChange:
        """Replace the notes with the result of a jq filter, which must be exactly one object.

        If the notes were changed in the meantime, the filter runs again on the new version. With `expected_version`, a
        version other than that raises StoreConflict instead.
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
        """Replace the notes with one JSON object, or with plain text, which becomes the field `text` of an object.

        Raises StoreConflict if the notes are at another version, InputError if the text is neither.
        """
        before = self._expected(expected_version)
        if len(document) > LARGEST_TEXT:
            raise _too_large()
        if is_plain_text(document):
            document = _with_text(before.document, document)
        if not isinstance(decoded(document), dict):
            raise InputError("The notes must be one JSON object; nothing was changed.")
        (as_jq_writes_it,) = self._limited(".", document)  # jq normalises it like the stored document, to compare them
        return self._put(before, as_jq_writes_it, origin, REPLACE)

    def undo(self, origin: str, expected_version: int | None = None) -> NotesChange:
        """Undo the last change by writing a new version with the content before it. More calls go further back.

        If a change follows an undo, the next undo reverts that change, and later ones continue where the earlier undo
        stopped. Undone versions stay in the history.
        """
        now = self._expected(expected_version)
        version = _undone_to(now)
        if version == 0:
            raise InputError("There is no change to the notes to undo.")
        before = self.version(version - 1)
        return self._put_again(now, before, origin, f"undo {_undone_to(before)}")

    def restore(self, version: int, origin: str, expected_version: int | None = None) -> NotesChange:
        """Restore the content of an earlier version as a new version, which can itself be undone."""
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
    """Return the version whose content an undo restored, or the record's own version if it is not an undo."""
    undone = _UNDO.fullmatch(record.command)
    return int(undone[1]) if undone and int(undone[1]) < record.version else record.version


def _stamp(time: datetime) -> str:
    moment = json.dumps(f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return (
        'if (._metadata | type) == "object" '
        f"then ._metadata.created //= {moment} | ._metadata.last_modified = {moment} else . end"
    )


def plain_text_of(document: str) -> str | None:
    """Return the text of notes that are nothing but plain text, and None for all others."""
    notes = decoded(document)
    text = notes.get(TEXT)
    if notes.keys() - {TEXT, _METADATA} or not isinstance(text, str) or not is_plain_text(text):
        return None
    return text


def _with_text(before: str, text: str) -> str:
    metadata = decoded(before).get(_METADATA)
    return json.dumps({TEXT: text} if metadata is None else {_METADATA: metadata, TEXT: text})
