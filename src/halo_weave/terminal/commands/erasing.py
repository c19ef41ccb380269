"""`halo-weave memory clear` and `forget`: the only commands that remove something, and therefore ask."""

import sys
from datetime import datetime
from pathlib import Path

from halo_weave import paths
from halo_weave.config import Settings
from halo_weave.errors import InputError, StoreUnavailable
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk
from halo_weave.session.actions.capture_forgetting import remove_captures_with
from halo_weave.terminal import output
from halo_weave.terminal.address import Address
from halo_weave.terminal.chunk_lines import counted, key_for_programs
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import ORIGIN, chunks_at, opened_memory

_BATCH = 1000


def clear(settings: Settings, *, is_agreed: bool, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        chunks = memory.stats().chunks
        question = (
            f"All {counted(chunks, 'chunk')}, all windows, the notes and the memory tree leave {settings.memory.file}, "
            "after a backup."
        )
        _require_agreement([question], is_agreed=is_agreed)
        backup = _free_name(settings.memory.file)
        memory.store.backup(backup)
        if not as_json:
            output.write_line(f"The backup is {backup}.")
        memory.clear(ORIGIN)
    if as_json:
        write_json({"cleared_chunks": chunks, "backup": str(backup)})
    else:
        output.write_line(f"The memory is empty; {counted(chunks, 'chunk')} went.")
    return 0


def forget(settings: Settings, address: Address | None, *, is_agreed: bool, as_json: bool) -> int:
    captures: list[Path] = []
    with opened_memory(settings) as memory:
        chunks = _to_forget(memory, address)
        keys = [chunk.key for chunk in chunks]
        if keys:
            what = "everything that is deleted" if address is None else f"{address}"
            questions = [
                f"{counted(len(keys), 'chunk')} ({what}) will be removed from {settings.memory.file} for ever.",
                "No command brings this back, and the whole file is written anew. Captures in the data folder that "
                "have words of it go too. Backups and exports keep theirs. An answer, or another passage, may repeat "
                "what is forgotten: search for it, and forget that as well.",
            ]
            _require_agreement(questions, is_agreed=is_agreed)
            # Before, so that whoever is stopped in between can forget once more; and after, for what was captured then.
            captures += _remove_captures(chunks)
            forgotten = memory.forget_all_deleted(ORIGIN) if address is None else memory.forget(keys, ORIGIN)
            captures += _remove_captures(chunks)
            memory.settle()
        else:
            forgotten = ()
    if as_json:
        write_json(
            {
                "forgotten": [key_for_programs(key) for key in forgotten],
                "captures_removed": [str(folder) for folder in captures],
            }
        )
    elif not forgotten:
        output.write_line("Nothing is deleted, so there is nothing to forget.")
    else:
        output.write_line(f"{counted(len(forgotten), 'chunk')} forgotten; the file was written anew without them.")
        for folder in captures:
            output.write_line(f"The capture {folder}, which had words of them, was removed.")
    return 0


def _to_forget(memory: Memory, address: Address | None) -> list[Chunk]:
    if address is not None:
        return [stored.chunk for stored in chunks_at(memory, address)]
    chunks: list[Chunk] = []
    position = 0
    while batch := memory.store.chunks_from(position, _BATCH):
        chunks += [stored.chunk for stored in batch if stored.chunk.deleted]
        position = batch[-1].chunk.end_position
    return chunks


def _remove_captures(chunks: list[Chunk]) -> list[Path]:
    try:
        return remove_captures_with(chunks, paths.captures_folder())
    except OSError as error:
        raise StoreUnavailable(
            f"The capture {error.filename}, which has words of what is to be forgotten, cannot be removed: "
            f"{error.strerror}."
        ) from error


def _require_agreement(questions: list[str], *, is_agreed: bool) -> None:
    """InputError unless a person types yes to each; without a terminal there is nobody to ask."""
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise InputError("Nobody can be asked here whether this is meant; --yes says so. Nothing was changed.")
    for question in questions:
        output.notice(question)
        sys.stderr.write("Type yes to go on: ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() != "yes":
            raise InputError("That was not yes; nothing was changed.")


def _free_name(memory: Path) -> Path:
    """Beside the memory, with the time in it."""
    name = f"{memory.stem}-before-clear-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}"
    path = memory.with_name(f"{name}{memory.suffix}")
    number = 2
    while path.exists():
        path = memory.with_name(f"{name}-{number}{memory.suffix}")
        number += 1
    return path
