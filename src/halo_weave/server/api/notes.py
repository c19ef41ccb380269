"""The notes over HTTP. A document travels as text, so that its numbers keep all digits."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.records.notes import NotesRecord
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.server.http_errors import NotFound
from halo_weave.tools.jq.process import LONGEST_FILTER
from halo_weave.tools.notes.notes import GONE, NotesChange, plain_text_of

ORIGIN = "page"
_INDENT = 2
_LARGEST_VERSION = 2**53 - 1

NotesVersion = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST_VERSION)]
FilterText = Annotated[str, msgspec.Meta(max_length=LONGEST_FILTER)]


class NotesShape(msgspec.Struct):
    """Version 0 is the initial state, before anything was written; its time is null. `document` is indented JSON.

    `text` is the text of notes that are nothing but plain text, and null for all others.
    """

    version: int
    time: datetime | None
    origin: str
    command: str
    document: str
    text: str | None


class NotesEntry(msgspec.Struct):
    """A version; `command` is the jq filter that created it, or replace, undo N or restore N."""

    version: int
    time: datetime
    origin: str
    command: str
    bytes: int


class NotesDifference(msgspec.Struct):
    """The new value at a path; with `is_deleted` there is none."""

    path: str
    value: Any
    is_deleted: bool


class NotesSaved(msgspec.Struct):
    """`text` describes the changes in one line of limited length."""

    version: int
    changes: list[NotesDifference]
    text: str


class NotesResults(msgspec.Struct):
    results: list[msgspec.Raw]


class NotesHistoryQuery(msgspec.Struct):
    before: NotesVersion | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class FilterBody(msgspec.Struct, forbid_unknown_fields=True):
    filter: FilterText


class PatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """With `version`, the change is rejected if the notes have another version."""

    filter: FilterText
    version: NotesVersion | None = None


class ReplaceBody(msgspec.Struct, forbid_unknown_fields=True):
    """`version` is the version that was edited; the change is rejected if the notes have another version."""

    document: str
    version: NotesVersion


class UndoBody(msgspec.Struct, forbid_unknown_fields=True):
    version: NotesVersion | None = None


class RestoreBody(msgspec.Struct, forbid_unknown_fields=True):
    """`restore` is the version to go back to, `version` the current one."""

    restore: NotesVersion
    version: NotesVersion | None = None


def _read(call: Call) -> NotesShape:
    return _shape(call.program.notes.read())


def _version(call: Call) -> NotesShape:
    text = call.part("version")
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_LARGEST_VERSION))
    record = call.program.memory.notes_store.notes_version(int(text)) if is_number else None
    if record is None:
        raise NotFound(f"The notes have no version {text[:40]}.")
    return _shape(record)


def _history(call: Call) -> list[NotesEntry]:
    query: NotesHistoryQuery = call.query
    return [NotesEntry(*outline) for outline in call.program.notes.history(query.before, query.limit)]


def _query(call: Call) -> NotesResults:
    return NotesResults([msgspec.Raw(text.encode()) for text in call.program.notes.query_texts(call.body.filter)])


def _patch(call: Call) -> NotesSaved:
    body: PatchBody = call.body
    return _saved(call.program.notes.patch(body.filter, ORIGIN, body.version))


def _replace(call: Call) -> NotesSaved:
    body: ReplaceBody = call.body
    return _saved(call.program.notes.replace(body.document, body.version, ORIGIN))


def _undo(call: Call) -> NotesSaved:
    return _saved(call.program.notes.undo(ORIGIN, call.body.version))


def _restore(call: Call) -> NotesSaved:
    body: RestoreBody = call.body
    return _saved(call.program.notes.restore(body.restore, ORIGIN, body.version))


def _shape(record: NotesRecord) -> NotesShape:
    document = msgspec.json.format(record.document, indent=_INDENT)
    return NotesShape(
        version=record.version,
        time=record.time if record.version else None,
        origin=record.origin,
        command=record.command,
        document=document,
        text=plain_text_of(record.document),
    )


def _saved(change: NotesChange) -> NotesSaved:
    return NotesSaved(
        version=change.version,
        changes=[
            NotesDifference(path, None if value is GONE else value, is_deleted=value is GONE)
            for path, value in change.changes
        ],
        text=change.in_words(),
    )


ENDPOINTS = [
    Endpoint("GET", "/api/notes", "Get the notes.", _read, NotesShape),
    Endpoint(
        "PUT",
        "/api/notes",
        "Replace the whole document with a JSON object or with plain text.",
        _replace,
        NotesSaved,
        body=ReplaceBody,
    ),
    Endpoint("POST", "/api/notes/query", "Run a jq filter on the notes.", _query, NotesResults, body=FilterBody),
    Endpoint("POST", "/api/notes/patch", "Change the notes with a jq filter.", _patch, NotesSaved, body=PatchBody),
    Endpoint("POST", "/api/notes/undo", "Undo the last change.", _undo, NotesSaved, body=UndoBody),
    Endpoint("POST", "/api/notes/restore", "Restore an earlier version.", _restore, NotesSaved, body=RestoreBody),
    Endpoint(
        "GET",
        "/api/notes/history",
        "List the versions, newest first.",
        _history,
        list[NotesEntry],
        query=NotesHistoryQuery,
    ),
    Endpoint("GET", "/api/notes/versions/{version}", "Get an earlier version of the notes.", _version, NotesShape),
]
