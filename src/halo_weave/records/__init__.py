"""Values that packages exchange: tokens, chunks and their keys, windows, notes, and the memory tree.

Each record validates itself when it is created, so every existing record is valid. Records depend on no store, engine
or window.
"""

from typing import TYPE_CHECKING

from halo_weave.system.exports import exported_from

if TYPE_CHECKING:
    from halo_weave.records.chunks import AuditEntry as AuditEntry
    from halo_weave.records.chunks import Chunk as Chunk
    from halo_weave.records.chunks import ChunkKey as ChunkKey
    from halo_weave.records.chunks import Reservation as Reservation
    from halo_weave.records.chunks import Stats as Stats
    from halo_weave.records.chunks import Stored as Stored
    from halo_weave.records.chunks import utc_now as utc_now
    from halo_weave.records.notes import NotesRecord as NotesRecord
    from halo_weave.records.numbers import number_of_text as number_of_text
    from halo_weave.records.numbers import text_of_number as text_of_number
    from halo_weave.records.roles import ROLES as ROLES
    from halo_weave.records.roles import Role as Role
    from halo_weave.records.tokens import Token as Token
    from halo_weave.records.tree import SnapshotChunk as SnapshotChunk
    from halo_weave.records.tree import TreeEntry as TreeEntry
    from halo_weave.records.tree import TreeVersion as TreeVersion
    from halo_weave.records.windows import BurialRecord as BurialRecord
    from halo_weave.records.windows import WindowRecord as WindowRecord
else:
    __getattr__ = exported_from(
        {
            "AuditEntry": "halo_weave.records.chunks",
            "Chunk": "halo_weave.records.chunks",
            "ChunkKey": "halo_weave.records.chunks",
            "Reservation": "halo_weave.records.chunks",
            "Stats": "halo_weave.records.chunks",
            "Stored": "halo_weave.records.chunks",
            "utc_now": "halo_weave.records.chunks",
            "NotesRecord": "halo_weave.records.notes",
            "number_of_text": "halo_weave.records.numbers",
            "text_of_number": "halo_weave.records.numbers",
            "ROLES": "halo_weave.records.roles",
            "Role": "halo_weave.records.roles",
            "Token": "halo_weave.records.tokens",
            "SnapshotChunk": "halo_weave.records.tree",
            "TreeEntry": "halo_weave.records.tree",
            "TreeVersion": "halo_weave.records.tree",
            "BurialRecord": "halo_weave.records.windows",
            "WindowRecord": "halo_weave.records.windows",
        }
    )
