"""Values that travel between the rooms of the house: tokens, chunks and their keys, windows, notes, the memory tree.

A record that exists is sound: each checks itself when it is made. Records know no store, engine or window.
"""

from halo_weave.records.chunks import AuditEntry, Chunk, ChunkKey, Reservation, Stats, Stored, utc_now
from halo_weave.records.notes import NotesRecord
from halo_weave.records.numbers import number_of_text, text_of_number
from halo_weave.records.roles import ROLES, Role
from halo_weave.records.tokens import Token
from halo_weave.records.tree import SnapshotChunk, TreeEntry, TreeVersion
from halo_weave.records.windows import BurialRecord, WindowRecord

__all__ = [
    "ROLES",
    "AuditEntry",
    "BurialRecord",
    "Chunk",
    "ChunkKey",
    "NotesRecord",
    "Reservation",
    "Role",
    "SnapshotChunk",
    "Stats",
    "Stored",
    "Token",
    "TreeEntry",
    "TreeVersion",
    "WindowRecord",
    "number_of_text",
    "text_of_number",
    "utc_now",
]
