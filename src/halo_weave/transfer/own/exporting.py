"""Exports the whole memory to one file, as lines of JSON."""

import gzip
import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from halo_weave.errors import StoreDamaged, StoreUnavailable
from halo_weave.memory.store.protocol import FIRST_POSITION, Store
from halo_weave.records.chunks import AuditEntry, Record, utc_now
from halo_weave.records.notes import NotesRecord
from halo_weave.records.notes_and_tree import KeptVersion
from halo_weave.transfer.outcome import BATCH, Exported, LeftOut, Progress, ProgressCallback, no_progress
from halo_weave.transfer.own.format import (
    ExportHeader,
    header_of,
    line_of_audit,
    line_of_end,
    line_of_header,
    line_of_record,
    new_digest,
)
from halo_weave.transfer.own.new_file import new_file
from halo_weave.transfer.own.notes_and_tree import line_of_kept

_ATTEMPTS = 3
_EXPORTED = ("chunks", "audit", "notes", "tree", "tree_snapshots", "snapshot_chunks")
"""The tables whose damaged rows would have been in the file."""
_TREE_BATCH = 16
"""Small, because each version may have a snapshot of many chunks."""


def export_memory(
    store: Store,
    path: Path,
    *,
    now: datetime | None = None,
    overwrite: bool = False,
    skip_damaged: bool = False,
    progress: ProgressCallback = no_progress,
) -> Exported:
    """Write all chunks, notes and the tree to `path`, compressed if it ends in `.gz`. The data is streamed.

    The file is a consistent snapshot: if the memory changes during the export, it starts over, up to three attempts.
    Damaged data makes the export fail; with `skip_damaged`, the export uses a repaired copy without it.
    """
    now = now or utc_now()
    if not skip_damaged:
        try:
            return _export(store, path, now, overwrite, progress)
        except StoreDamaged as error:
            raise StoreDamaged(
                f"{str(error).removesuffix('.')}; `halo-weave export --skip-damaged FILE` exports the rest."
            ) from error
    with store.repaired_copy() as (copy, repaired):
        left_out = [LeftOut(one.what, one.problem) for one in repaired.set_aside if one.source in _EXPORTED]
        return msgspec.structs.replace(_export(copy, path, now, overwrite, progress), left_out=left_out)


def _export(store: Store, path: Path, now: datetime, overwrite: bool, progress: ProgressCallback) -> Exported:
    with new_file(path, overwrite=overwrite) as file:
        header = _write_of_one_moment(store, file, path, now, progress)
        file.flush()
        size = file.tell()
    return Exported(header.chunks, header.deleted_chunks, header.tokens, size)


def _write_of_one_moment(
    store: Store, file: BinaryIO, path: Path, now: datetime, progress: ProgressCallback
) -> ExportHeader:
    for _ in range(_ATTEMPTS):
        file.seek(0)
        file.truncate()
        stats = store.stats()
        header = header_of(stats, now)
        with _compressed(file, path) as stream:
            _write(stream, header, store, progress)
        if store.change_number() == stats.change_number:
            return header
    raise StoreUnavailable(
        f"The memory was changed during each of {_ATTEMPTS} attempts to export it; export it when it is not in use, or "
        "export a backup of it."
    )


def _write(stream: BinaryIO, header: ExportHeader, store: Store, progress: ProgressCallback) -> None:
    stream.write(line_of_header(header))
    digest = new_digest()
    lines = itertools.chain(
        map(line_of_record, _chunks(store)),
        map(line_of_record, _merged(store)),
        map(line_of_audit, _audit(store)),
        map(line_of_kept, _notes(store)),
        map(line_of_kept, _tree(store)),
    )
    for number, line in enumerate(lines):
        if number % BATCH == 0 and number < header.chunks:
            progress(Progress("writing", number, header.chunks))
        digest.update(line)
        stream.write(line)
    stream.write(line_of_end(digest.hexdigest()))
    progress(Progress("writing", header.chunks, header.chunks))


def _chunks(store: Store) -> Iterator[Record]:
    position = FIRST_POSITION
    while batch := store.chunks_from(position, BATCH):
        for stored in batch:
            yield Record(stored.chunk)
        position = batch[-1].chunk.end_position


def _merged(store: Store) -> Iterator[Record]:
    position = FIRST_POSITION
    while batch := store.merged_from(position, BATCH):
        yield from batch
        position = batch[-1].chunk.first_position + 1


def _audit(store: Store) -> Iterator[AuditEntry]:
    last = 0
    while batch := store.audit(last, BATCH):
        yield from batch
        last = batch[-1].number


def _notes(store: Store) -> Iterator[NotesRecord]:
    for version in range(1, store.notes().version + 1):
        if (record := store.notes_version(version)) is not None:
            yield record


def _tree(store: Store) -> Iterator[KeptVersion]:
    place = ("", 0)
    while batch := store.tree_versions_from(*place, limit=_TREE_BATCH):
        yield from batch
        place = (batch[-1].version.path, batch[-1].version.version)


def _compressed(file: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    if path.suffix != ".gz":
        return nullcontext(file)
    # No name and no time, so that equal memories give equal files.
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)  # type: ignore[return-value]
