"""All versions of all entries of the memory tree; a version without content is a deletion.

The heads table records the last version, so that finding it does not require reading the history. Snapshot chunks are
copies, so that they survive changes to their sources. Row ids are never reused, because vectors are stored by row id.
"""

SQL = """
CREATE TABLE tree (
    path TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    created INTEGER NOT NULL,
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    content TEXT,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (path, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE tree_heads (
    path TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    accessed INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tree_snapshots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    turn BLOB NOT NULL,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    first_position BLOB NOT NULL,
    last_position BLOB NOT NULL,
    text TEXT NOT NULL,
    token_ids BLOB NOT NULL,
    piece_lengths BLOB NOT NULL,
    time INTEGER NOT NULL,
    metadata TEXT,
    similarity REAL NOT NULL,
    embedder TEXT,
    vector BLOB,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX tree_snapshots_by_version ON tree_snapshots (path, version);
CREATE INDEX tree_snapshots_by_position ON tree_snapshots (first_position, last_position);
"""
