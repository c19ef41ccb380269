"""Snapshots of the tree share their chunks: equal chunks are stored once and found by digest.

Rows that were damaged before get the checksum -1, which never matches.
"""

_COPIED = (
    "turn, number, CAST(role AS BLOB), first_position, last_position, CAST(text AS BLOB), token_ids, piece_lengths,"
    " time, CAST(metadata AS BLOB)"
)
SQL = f"""
DROP INDEX tree_snapshots_by_version;
DROP INDEX tree_snapshots_by_position;
ALTER TABLE tree_snapshots RENAME TO unshared_snapshots;
CREATE TABLE snapshot_chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
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
    embedder TEXT,
    vector BLOB,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX snapshot_chunks_by_position ON snapshot_chunks (first_position, last_position);
CREATE TABLE tree_snapshots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    similarity REAL NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX tree_snapshots_by_version ON tree_snapshots (path, version);
CREATE INDEX tree_snapshots_by_chunk ON tree_snapshots (chunk);

ALTER TABLE unshared_snapshots ADD COLUMN digest BLOB;
UPDATE unshared_snapshots SET digest = row_digest('--t--t---t', {_COPIED})
    WHERE checksum = row_checksum('t---t--t---t-t-',
        CAST(path AS BLOB), version, {_COPIED}, similarity, CAST(embedder AS BLOB), vector);
CREATE INDEX unshared_snapshots_by_digest ON unshared_snapshots (digest);
INSERT INTO snapshot_chunks (digest, turn, number, role, first_position, last_position, text, token_ids, piece_lengths,
        time, metadata, embedder, vector, checksum)
    SELECT digest, turn, number, role, first_position, last_position, text, token_ids, piece_lengths,
        time, metadata, embedder, vector,
        row_checksum('---t--t---tt-', digest, {_COPIED}, CAST(embedder AS BLOB), vector)
    FROM unshared_snapshots WHERE id IN (SELECT max(id) FROM unshared_snapshots WHERE digest NOT NULL GROUP BY digest);
UPDATE unshared_snapshots SET digest = CAST('damaged ' || id AS BLOB), checksum = -1 WHERE digest IS NULL;
INSERT INTO snapshot_chunks (digest, turn, number, role, first_position, last_position, text, token_ids, piece_lengths,
        time, metadata, embedder, vector, checksum)
    SELECT digest, turn, number, role, first_position, last_position, text, token_ids, piece_lengths,
        time, metadata, embedder, vector, -1
    FROM unshared_snapshots WHERE checksum = -1;
INSERT INTO tree_snapshots SELECT unshared_snapshots.id, path, version, snapshot_chunks.id, similarity,
        iif(unshared_snapshots.checksum = -1, -1,
            row_checksum('t---', CAST(path AS BLOB), version, snapshot_chunks.id, similarity))
    FROM unshared_snapshots JOIN snapshot_chunks USING (digest) ORDER BY unshared_snapshots.id;
DELETE FROM sqlite_sequence WHERE name = 'tree_snapshots';
INSERT INTO sqlite_sequence SELECT 'tree_snapshots', seq FROM sqlite_sequence WHERE name = 'unshared_snapshots';
DROP TABLE unshared_snapshots;
"""
