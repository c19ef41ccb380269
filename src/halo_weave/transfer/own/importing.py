"""Imports an export: checks and stages every line, then passes everything new to the store at once."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import AuditEntry, ChunkKey, Record
from halo_weave.records.notes import NotesRecord
from halo_weave.records.notes_and_tree import KeptVersion, NotesOrTreeRecord
from halo_weave.transfer.file_values import number_in_file
from halo_weave.transfer.outcome import BATCH, Imported, Progress, ProgressCallback
from halo_weave.transfer.own.format import (
    End,
    ExportHeader,
    header_of_line,
    new_digest,
    read_line,
)
from halo_weave.transfer.own.notes_and_tree import KeptOrder
from halo_weave.transfer.own.presence import is_present
from halo_weave.transfer.own.staging import StagedLines
from halo_weave.transfer.reading import LONGEST_LINE_BYTES, ImportSource
from halo_weave.transfer.refusal import reason_of, refusal

_KEY_DIGEST_BYTES = 16
_LARGEST_GAP = 2**64
"""How far the next turn and position may exceed all numbers in the file; the gap was reserved but never used."""


def import_own_format(store: Store, source: ImportSource, first_line: bytes, progress: ProgressCallback) -> Imported:
    reader = _Reader(source, first_line, progress)
    is_empty = store.stats().chunks == 0
    added = present = 0
    with ExitStack() as files:
        records, audit, kept = (StagedLines(files.enter_context(tempfile.TemporaryFile())) for _ in range(3))
        for line, read in reader.lines():
            if isinstance(read, AuditEntry):
                audit.add(line)
            elif isinstance(read, NotesRecord | KeptVersion):
                if isinstance(read, KeptVersion) and not is_empty:
                    _require_no_conflict(store, read, source.path)
                kept.add(line)
            elif is_empty or not is_present(store, read.chunk, source.path):
                records.add(line)
                added += read.merged_into is None
            else:
                present += read.merged_into is None
        for staged in (records, audit, kept):
            staged.finish()
        restored = store.restore(
            _records(records, progress),
            _entries(audit),
            _kept(kept),
            next_turn=reader.next_turn,
            next_position=reader.next_position,
        )
        return Imported(
            "halo-weave",
            added=added,
            present=present,
            tree_added=list(restored.tree_added),
            tree_differing=list(restored.tree_differing),
            are_notes_added=restored.are_notes_added,
            are_notes_differing=restored.are_notes_differing,
        )


def _require_no_conflict(store: Store, kept: KeptVersion, path: Path) -> None:
    """Check that the positions of a snapshot do not belong to other text in this memory."""
    for one in kept.snapshot:
        is_present(store, one.chunk, path)


def _records(lines: StagedLines, progress: ProgressCallback) -> Iterator[Record]:
    for number, line in enumerate(lines):
        if number % BATCH == 0:
            progress(Progress("writing", number, len(lines)))
        yield cast(Record, read_line(line))
    progress(Progress("writing", len(lines), len(lines)))


def _entries(lines: StagedLines) -> Iterator[AuditEntry]:
    return (cast(AuditEntry, read_line(line)) for line in lines)


def _kept(lines: StagedLines) -> Iterator[NotesOrTreeRecord]:
    return (cast(NotesOrTreeRecord, read_line(line)) for line in lines)


class _Counts(NamedTuple):
    chunks: int
    deleted: int
    merged: int
    tokens: int

    def with_one_more(self, record: Record) -> "_Counts":
        if record.merged_into is not None:
            return self._replace(merged=self.merged + 1)
        deleted, tokens = self.deleted + record.chunk.deleted, self.tokens + record.chunk.token_count
        return _Counts(self.chunks + 1, deleted, self.merged, tokens)

    def __str__(self) -> str:
        return f"{self.chunks} chunks ({self.deleted} deleted, {self.merged} merged, {self.tokens} tokens)"


class _Reader:
    """Reads a file once, from header to end. When `lines` is exhausted, the whole file is known to be valid."""

    def __init__(self, source: ImportSource, first_line: bytes, progress: ProgressCallback) -> None:
        self._source = source
        self._progress = progress
        self._line_number = 1
        self._free_from = {True: 0, False: 0}
        self._kept_order = KeptOrder()
        self._end_turn = self._end_position = 0
        try:
            self._header: ExportHeader = header_of_line(first_line)
            self.next_turn = number_in_file(self._header.next_turn)
            self.next_position = number_in_file(self._header.next_position)
        except InputError as error:
            raise refusal(source.path, f"in its header, {reason_of(error)}") from error

    def lines(self) -> Iterator[tuple[bytes, Record | AuditEntry | NotesOrTreeRecord]]:
        digest = new_digest()
        keys = bytearray()
        counts = _Counts(0, 0, 0, 0)
        while not isinstance(read := self._read(line := self._line()), End):
            digest.update(line)
            if isinstance(read, Record):
                if counts.chunks % BATCH == 0 and read.merged_into is None:
                    self._progress(Progress("reading", counts.chunks, self._header.chunks))
                self._require_place(read)
                keys += _key_digest(read.chunk.key)
                counts = counts.with_one_more(read)
            elif isinstance(read, NotesRecord | KeptVersion):
                self._require_kept(read)
            elif read.key is not None:
                self._end_turn = max(self._end_turn, read.key.turn + 1)
            yield line, read
        self._require_end(read, digest.hexdigest())
        self._require_counts(counts)
        self._bound_next()
        if _has_twice(keys):
            raise self._refusal("it has two chunks with the same turn, index and role")
        self._progress(Progress("reading", counts.chunks, counts.chunks))

    def _line(self) -> bytes:
        self._line_number += 1
        line = self._source.line()
        if not line.endswith(b"\n"):
            if len(line) >= LONGEST_LINE_BYTES:
                raise self._refusal(f"line {self._line_number} is longer than {LONGEST_LINE_BYTES // 2**20} MB")
            raise self._refusal("it is incomplete")
        return line

    def _read(self, line: bytes) -> Record | AuditEntry | NotesOrTreeRecord | End:
        try:
            return read_line(line)
        except InputError as error:
            raise self._refusal(f"in line {self._line_number}, {reason_of(error)}") from error

    def _require_place(self, record: Record) -> None:
        chunk = record.chunk
        if chunk.first_position < self._free_from[record.merged_into is None]:
            raise self._refusal(f"the chunk in line {self._line_number} overlaps the chunk before it")
        if chunk.key.turn >= self.next_turn or chunk.end_position > self.next_position:
            raise self._refusal(
                f"the chunk in line {self._line_number} has a turn or position that is still free according to the "
                "header"
            )
        self._reach(chunk.key, chunk.end_position)
        # A merged chunk may have been the longer of the two, so merged chunks may overlap, but they have an order.
        is_merged = record.merged_into is not None
        self._free_from[not is_merged] = chunk.first_position + 1 if is_merged else chunk.end_position

    def _require_kept(self, kept: NotesOrTreeRecord) -> None:
        try:
            self._kept_order.require_next(kept)
        except InputError as error:
            raise self._refusal(f"in line {self._line_number}, {reason_of(error)}") from error
        for one in kept.snapshot if isinstance(kept, KeptVersion) else ():
            if one.key.turn >= self.next_turn or one.end_position > self.next_position:
                raise self._refusal(
                    f"a snapshot in line {self._line_number} has a turn or position that is still free according to "
                    "the header"
                )
            self._reach(one.key, one.end_position)

    def _reach(self, key: ChunkKey, end_position: int) -> None:
        self._end_turn = max(self._end_turn, key.turn + 1)
        self._end_position = max(self._end_position, end_position)

    def _bound_next(self) -> None:
        """Limit the header's numbers, so that needlessly huge ones do not make all later numbers huge."""
        self.next_turn = min(self.next_turn, self._end_turn + _LARGEST_GAP)
        self.next_position = min(self.next_position, self._end_position + _LARGEST_GAP)

    def _require_end(self, end: End, sha256: str) -> None:
        if end.sha256 != sha256:
            raise self._refusal("its checksum does not match; it was changed after the export")
        if self._source.line(longest_bytes=1):
            raise self._refusal("there is data after its end")

    def _require_counts(self, counts: "_Counts") -> None:
        header = self._header
        said = _Counts(header.chunks, header.deleted_chunks, header.merged_chunks, header.tokens)
        if counts != said:
            raise self._refusal(f"it has {counts}, but its header says {said}")

    def _refusal(self, reason: str) -> InputError:
        return refusal(self._source.path, reason)


def _key_digest(key: ChunkKey) -> bytes:
    return hashlib.blake2b(str(key).encode(), digest_size=_KEY_DIGEST_BYTES).digest()


def _has_twice(digests: bytearray) -> bool:
    each = np.frombuffer(digests, dtype=f"S{_KEY_DIGEST_BYTES}")
    return len(np.unique(each)) < len(each)
