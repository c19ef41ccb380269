"""Records of another memory, written into the SQLite memory as they were there."""

import sqlite3
from collections.abc import Iterable

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory import sqlite_audit, sqlite_wishes
from halo_weave.memory.records import AuditEntry, Record
from halo_weave.memory.sqlite_chunks import find, insert, require_given_out, require_new
from halo_weave.memory.sqlite_counters import Counters, read_counters, set_change
from halo_weave.memory.sqlite_forgetting import is_forgotten, require_not_forgotten
from halo_weave.memory.sqlite_rows import row_of_chunk


def restore(connection: sqlite3.Connection, records: Iterable[Record], audit: Iterable[AuditEntry]) -> None:
    (last_id,) = connection.execute("SELECT ifnull(max(id), 0) FROM chunks").fetchone()
    counters = read_counters(connection)
    for record in records:
        if _restore(connection, record, counters):
            set_change(connection, counters.change + 1)
    sqlite_audit.restore(connection, audit, last_id)


def _restore(connection: sqlite3.Connection, record: Record, counters: Counters) -> bool:
    """False if it was forgotten here."""
    row = row_of_chunk(record.chunk, counters.change + 1)
    is_wish = sqlite_wishes.is_of_user(row.role, row.text)
    require_given_out(row, counters)
    if is_forgotten(connection, row):
        return False
    if record.merged_into is None:
        require_not_forgotten(connection, row)
        require_new(connection, row)
        insert(connection, row, is_wish=is_wish)
        return True
    if find(connection, row.turn, row.number, row.role) is not None:
        raise StoreConflict(f"Chunk {row.key} is in the memory already; nothing was written.")
    target = find(connection, row.turn, record.merged_into, row.role)
    if target is None or not target[1].start < row.start < row.end <= target[1].end:
        raise InputError(f"Chunk {row.key} is not part of the one that it was merged into; nothing was changed.")
    insert(connection, row._replace(merged_into=target[0]), is_wish=is_wish)
    return True
