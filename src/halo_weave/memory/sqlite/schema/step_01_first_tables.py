"""The first tables: chunks with their words and vectors, the audit log, windows, burials and the journal.

Porter stemming lets "runs" find "running". English benefits from it more than from exact forms, and other languages are
hardly affected. Diacritics are removed on both sides, so that "Grusse" finds "Grüsse". The FTS5 table stores no copy of
the text: it reads the view, which excludes chunks that must not be found.
"""

from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN
from halo_weave.records.numbers import key_of_number

SQL = f"""
CREATE TABLE counters (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    next_turn BLOB NOT NULL,
    next_position BLOB NOT NULL,
    change INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES (1, x'{key_of_number(FIRST_TURN).hex()}', x'{key_of_number(FIRST_POSITION).hex()}', 0);

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO settings VALUES ('identity', lower(hex(randomblob(16))));

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    turn BLOB NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 0),
    role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
    first_position BLOB NOT NULL,
    token_count INTEGER NOT NULL CHECK (token_count > 0),
    text TEXT NOT NULL,
    token_ids BLOB NOT NULL,
    piece_lengths BLOB NOT NULL,
    time INTEGER NOT NULL,
    metadata TEXT,
    deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    deleted_at INTEGER,
    undeleted_at INTEGER,
    merged_into INTEGER REFERENCES chunks (id),
    change INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX chunks_by_key ON chunks (turn, number, role);
CREATE INDEX chunks_by_position ON chunks (first_position, token_count, deleted, time, merged_into)
    WHERE merged_into IS NULL;
CREATE INDEX chunks_merged_by_position ON chunks (first_position) WHERE merged_into IS NOT NULL;
CREATE INDEX chunks_merged ON chunks (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX chunks_by_change ON chunks (change);
CREATE INDEX chunks_by_time ON chunks (time);

-- What was physically removed: its key and its positions are never used again. A chunk that was merged into another one
-- has no positions of its own.
CREATE TABLE forgotten (
    id INTEGER PRIMARY KEY,
    turn BLOB NOT NULL,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    first_position BLOB,
    token_count INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX forgotten_by_key ON forgotten (turn, number, role);
CREATE INDEX forgotten_by_position ON forgotten (first_position) WHERE first_position IS NOT NULL;

CREATE VIEW searchable AS SELECT id, text FROM chunks WHERE deleted = 0 AND merged_into IS NULL;
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'searchable', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER words_of_new_chunk AFTER INSERT ON chunks WHEN new.deleted = 0 AND new.merged_into IS NULL BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER words_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks BEGIN
    INSERT INTO words (words, rowid, text)
        SELECT 'delete', old.id, old.text WHERE old.deleted = 0 AND old.merged_into IS NULL;
    INSERT INTO words (rowid, text) SELECT new.id, new.text WHERE new.deleted = 0 AND new.merged_into IS NULL;
END;

CREATE TABLE embedders (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL CHECK (dimensions > 0),
    type TEXT NOT NULL CHECK (type IN ('float16', 'float32'))
) STRICT;

-- A vector that was removed stays as a row without one, so that others learn of it by its change number, even if the
-- chunk was forgotten: hence no reference to it.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    chunk INTEGER NOT NULL,
    embedder INTEGER NOT NULL REFERENCES embedders (id),
    change INTEGER NOT NULL,
    vector BLOB
) STRICT;
CREATE UNIQUE INDEX vectors_by_chunk ON vectors (chunk, embedder);
CREATE UNIQUE INDEX vectors_by_change ON vectors (embedder, change);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('delete', 'undelete', 'merge', 'forget', 'clear')),
    turn BLOB,
    number INTEGER,
    role TEXT,
    CHECK ((action = 'clear') = (turn IS NULL)),
    CHECK ((turn IS NULL) = (number IS NULL) AND (turn IS NULL) = (role IS NULL))
) STRICT;
CREATE INDEX audit_by_time ON audit (time);

CREATE TABLE windows (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    state BLOB NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    saved_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

CREATE TABLE burials (
    window TEXT NOT NULL,
    turn BLOB NOT NULL,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    first_position BLOB NOT NULL,
    peak REAL NOT NULL,
    reason TEXT NOT NULL,
    time INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (window, turn, number, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX burials_by_time ON burials (window, time, turn, number, role);
CREATE INDEX burials_by_position ON burials (window, first_position, time);

CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    window TEXT NOT NULL,
    turn BLOB NOT NULL,
    payload BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX journal_by_window ON journal (window, turn);
"""
