"""Checksums for the tables that had none, and the table to which repair moves damaged rows.

A damaged row is stored with the table it came from. If the key and positions of a chunk are known, they stay reserved.
"""

SQL = """
ALTER TABLE counters ADD COLUMN checksum INTEGER;
UPDATE counters SET checksum = row_checksum('----', id, next_turn, next_position, change);
ALTER TABLE settings ADD COLUMN checksum INTEGER;
UPDATE settings SET checksum = row_checksum('tt', CAST(name AS BLOB), CAST(value AS BLOB));
ALTER TABLE forgotten ADD COLUMN checksum INTEGER;
UPDATE forgotten SET checksum =
    row_checksum('---t--', id, turn, number, CAST(role AS BLOB), first_position, token_count);
ALTER TABLE embedders ADD COLUMN checksum INTEGER;
UPDATE embedders SET checksum = row_checksum('-t-t', id, CAST(name AS BLOB), dimensions, CAST(type AS BLOB));
ALTER TABLE vectors ADD COLUMN checksum INTEGER;
UPDATE vectors SET checksum = row_checksum('----', chunk, embedder, change, vector);
ALTER TABLE audit ADD COLUMN checksum INTEGER;
UPDATE audit SET checksum = row_checksum('-tt--t',
    time, CAST(origin AS BLOB), CAST(action AS BLOB), turn, number, CAST(role AS BLOB));

CREATE TABLE damaged (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    source TEXT NOT NULL,
    what TEXT NOT NULL,
    problem TEXT NOT NULL,
    content BLOB NOT NULL,
    turn BLOB,
    number INTEGER,
    role TEXT,
    first_position BLOB,
    token_count INTEGER
) STRICT;
CREATE INDEX damaged_by_turn ON damaged (turn) WHERE turn IS NOT NULL;
CREATE INDEX damaged_by_position ON damaged (first_position) WHERE first_position IS NOT NULL;
"""
