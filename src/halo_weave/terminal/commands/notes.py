"""`halo-weave notes`: reads the notes with jq, changes them and undoes changes."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.records.notes import NotesOutline
from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted, local_time
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import ORIGIN, opened_memory
from halo_weave.tools.jq.process import JqProcess
from halo_weave.tools.notes.notes import GONE, LARGEST_TEXT, Notes, NotesChange

_STDIN = "-"


@contextmanager
def opened_notes(settings: Settings, *, may_be_new: bool = False) -> Iterator[Notes]:
    with opened_memory(settings, may_be_new=may_be_new) as memory, closing(JqProcess()) as jq:
        yield Notes(memory.notes_store, jq)


def show(settings: Settings, version: int | None, *, as_json: bool) -> int:
    with opened_notes(settings) as notes:
        record = notes.read() if version is None else notes.version(version)
    if as_json:
        time = record.time if record.version else None
        write_json(record._asdict() | {"time": time, "document": msgspec.Raw(record.document.encode())})
    else:
        output.write_line(msgspec.json.format(record.document))
    return 0


def query(settings: Settings, filter_text: str, *, as_json: bool) -> int:
    with opened_notes(settings) as notes:
        texts = notes.query_texts(filter_text)
    if as_json:
        write_json([msgspec.Raw(text.encode()) for text in texts])
    else:
        for text in texts:
            output.write_line(msgspec.json.format(text))
    return 0


def patch(settings: Settings, filter_text: str, expected_version: int | None, *, as_json: bool) -> int:
    with opened_notes(settings, may_be_new=True) as notes:
        _tell(notes.patch(filter_text, ORIGIN, expected_version), as_json=as_json)
    return 0


def replace(settings: Settings, file: str, expected_version: int | None, *, as_json: bool) -> int:
    document = _read(file)
    with opened_notes(settings, may_be_new=True) as notes:
        version = notes.read().version if expected_version is None else expected_version
        _tell(notes.replace(document, version, ORIGIN), as_json=as_json)
    return 0


def undo(settings: Settings, *, as_json: bool) -> int:
    with opened_notes(settings) as notes:
        _tell(notes.undo(ORIGIN), as_json=as_json)
    return 0


def history(settings: Settings, limit: int, *, as_json: bool) -> int:
    with opened_notes(settings) as notes:
        versions = notes.history(limit=limit)
    if as_json:
        write_json([one._asdict() for one in versions])
    else:
        output.write_line("\n".join(map(_in_words, versions)) or "The notes are empty; there are no versions yet.")
    return 0


def restore(settings: Settings, version: int, *, as_json: bool) -> int:
    with opened_notes(settings) as notes:
        _tell(notes.restore(version, ORIGIN), as_json=as_json)
    return 0


def _tell(change: NotesChange, *, as_json: bool) -> None:
    if as_json:
        changes = [
            {"path": path, **({"is_deleted": True} if value is GONE else {"value": value})}
            for path, value in change.changes
        ]
        write_json({"version": change.version, "changes": changes})
    else:
        output.write_line(f"{change.in_words()} (version {change.version})")


def _in_words(one: NotesOutline) -> str:
    command = " ".join(one.command.split())
    return f"{one.version}  {local_time(one.time)}  {one.origin}  {counted(one.bytes, 'byte')}  {command[:100]}"


def _read(file: str) -> str:
    try:
        if file == _STDIN:
            return sys.stdin.read(LARGEST_TEXT + 1)
        with Path(file).open(encoding="utf-8") as opened:
            return opened.read(LARGEST_TEXT + 1)
    except UnicodeDecodeError:
        raise InputError(f"The file {file} is not UTF-8 text; nothing was changed.") from None
    except OSError as error:
        raise InputError(f"The file {file} cannot be read: {error.strerror}; nothing was changed.") from error
