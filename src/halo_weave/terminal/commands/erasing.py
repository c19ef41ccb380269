"""`halo-weave memory clear` and `forget`: the commands that remove text for good, and so ask for confirmation."""

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
            f"This removes all {counted(chunks, 'chunk')}, all windows, the notes and the memory tree from "
            f"{settings.memory.file}, after making a backup."
        )
        _require_agreement([question], is_agreed=is_agreed)
        backup = _free_name(settings.memory.file)
        memory.store.backup(backup)
        if not as_json:
            output.write_line(f"Backup: {backup}")
        memory.clear(ORIGIN)
    if as_json:
        write_json({"cleared_chunks": chunks, "backup": str(backup)})
    else:
        output.write_line(f"The memory is empty; {counted(chunks, 'chunk')} removed.")
    return 0


def forget(settings: Settings, address: Address | None, *, is_agreed: bool, as_json: bool) -> int:
    captures: list[Path] = []
    with opened_memory(settings) as memory:
        chunks = _to_forget(memory, address)
        keys = [chunk.key for chunk in chunks]
        if keys:
            what = "everything deleted" if address is None else f"{address}"
            questions = [
                f"{counted(len(keys), 'chunk')} ({what}) will be permanently removed from {settings.memory.file}.",
                "This cannot be undone, and the whole file is rewritten. Captures in the data folder that contain this "
                "text are removed too; backups and exports keep it. Replies or other passages may repeat the text: "
                "search for them and forget them as well.",
            ]
            _require_agreement(questions, is_agreed=is_agreed)
            # Remove captures before, so that an interrupted run can be repeated while the chunks still exist, and
            # after, to catch captures made in between.
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
        output.write_line("Nothing to forget: nothing is deleted.")
    else:
        output.write_line(
            f"{counted(len(forgotten), 'chunk')} permanently removed; the file was rewritten without them."
        )
        for folder in captures:
            output.write_line(f"The capture {folder} contained this text and was removed.")
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
            f"The capture {error.filename} contains this text but cannot be removed: {error.strerror}."
        ) from error


def _require_agreement(questions: list[str], *, is_agreed: bool) -> None:
    """Raise InputError unless the user answers yes to each question; without a terminal nobody can be asked."""
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise InputError(
            "Confirmation is required, but there is no terminal to ask in; pass --yes to confirm. Nothing was changed."
        )
    for question in questions:
        output.notice(question)
        sys.stderr.write("Type yes to continue: ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() != "yes":
            raise InputError("Cancelled; nothing was changed.")


def _free_name(memory: Path) -> Path:
    """Return an unused path for a backup beside the memory, with the time in its name."""
    name = f"{memory.stem}-before-clear-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}"
    path = memory.with_name(f"{name}{memory.suffix}")
    number = 2
    while path.exists():
        path = memory.with_name(f"{name}-{number}{memory.suffix}")
        number += 1
    return path
