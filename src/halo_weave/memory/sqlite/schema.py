"""The tables of the SQLite memory, as numbered migrations. Never change a released migration; add a new one.

Numbers without an upper limit are stored as keys (see `records.numbers`). Times are microseconds since 1970 in UTC.
`checksum` covers a row, because SQLite itself does not detect a flipped bit.
"""

from halo_weave.memory.sqlite.outline_schema import (
    FIRST_COLON,
    FIRST_COLON_OF_ANY_WIDTH,
    outline_triggers,
    outlines_of_chunks,
)
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN
from halo_weave.memory.words.tokenizer import TOKENIZER
from halo_weave.records.numbers import key_of_number

APPLICATION_ID = 0x48616C6F
"""Marks the file as a Halo Weave memory: "Halo" in ASCII."""

# Word index: Porter stemming lets "runs" find "running". English benefits from it more than from exact forms, and other
# languages are hardly affected. Diacritics are removed on both sides, so that "Grusse" finds "Grüsse". The FTS5 table
# stores no copy of the text: it reads the view, which excludes chunks that must not be found.
_FIRST_FORM = f"""
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

# All versions of the notes; the highest is the current one.
_NOTES_FORM = """
CREATE TABLE notes (
    version INTEGER PRIMARY KEY CHECK (version > 0),
    time INTEGER NOT NULL,
    origin TEXT NOT NULL,
    command TEXT NOT NULL,
    document TEXT NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
"""

# All versions of all entries of the memory tree; a version without content is a deletion. The heads table records the
# last version, so that finding it does not require reading the history. Snapshot chunks are copies, so that they
# survive changes to their sources. Row ids are never reused, because vectors are stored by row id.
_TREE_FORM = """
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

# The fields that a search needs of each chunk that was not merged away, in small rows, so that many can be read at
# once; see `outline_schema`.
OUTLINES_OF_CHUNKS = outlines_of_chunks(FIRST_COLON_OF_ANY_WIDTH)
_OUTLINES_FORM = f"""
CREATE TABLE outlines (
    id INTEGER PRIMARY KEY,
    turn BLOB NOT NULL,
    role TEXT NOT NULL,
    first_position BLOB NOT NULL,
    time INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    opening TEXT
) STRICT;
INSERT INTO outlines {outlines_of_chunks(FIRST_COLON)};
{outline_triggers(FIRST_COLON)}CREATE TRIGGER outline_of_removed_chunk AFTER DELETE ON chunks BEGIN
    DELETE FROM outlines WHERE id = old.id;
    UPDATE outlines SET opening = NULL
        WHERE old.number = 0 AND id IN (SELECT id FROM chunks WHERE turn = old.turn AND role = old.role);
END;
"""

# The chunks that contain a user's wish. A trigger cannot detect a wish, so the code that writes a text records it.
WISHES_OF_CHUNKS = "SELECT id FROM chunks WHERE role = 'user' AND is_wish(CAST(text AS BLOB))"
_WISHES_FORM = f"""
CREATE TABLE wishes (id INTEGER PRIMARY KEY) STRICT;
INSERT INTO wishes {WISHES_OF_CHUNKS};
CREATE TRIGGER wish_of_removed_chunk AFTER DELETE ON chunks BEGIN
    DELETE FROM wishes WHERE id = old.id;
END;
"""

# The brightness of each token of a buried chunk; NULL in rows of earlier versions, whose checksums do not cover it.
_BURIAL_BRIGHTNESS_FORM = """
ALTER TABLE burials ADD COLUMN brightness BLOB;
"""

# Checksums for the tables that had none. Repair moves damaged rows to the table `damaged`, with the table they came
# from. If the key and positions of a chunk are known, they stay reserved.
_DAMAGE_FORM = """
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

# Snapshots of the tree share their chunks: equal chunks are stored once and found by digest. Rows that were damaged
# before get the checksum -1, which never matches.
_COPIED = (
    "turn, number, CAST(role AS BLOB), first_position, last_position, CAST(text AS BLOB), token_ids, piece_lengths,"
    " time, CAST(metadata AS BLOB)"
)
_SHARING_FORM = f"""
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

# Totals, so that reading them does not require counting rows; see `totals`.
TOTALS_OF_CHUNKS = """SELECT
    1,
    ifnull(sum(merged_into IS NULL), 0),
    ifnull(sum(merged_into IS NULL AND deleted), 0),
    ifnull(sum(merged_into IS NOT NULL), 0),
    ifnull(sum(token_count * (merged_into IS NULL)), 0)
    FROM chunks"""
TOTALS_OF_VECTORS = """SELECT
    id, (SELECT count(*) FROM vectors WHERE embedder = embedders.id AND vector IS NOT NULL) FROM embedders"""
_TOTALS_FORM = f"""
CREATE TABLE totals (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    chunks INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    merged INTEGER NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
INSERT INTO totals {TOTALS_OF_CHUNKS};
CREATE TRIGGER totals_with_new_chunk AFTER INSERT ON chunks BEGIN
    UPDATE totals SET
        chunks = chunks + (new.merged_into IS NULL),
        deleted = deleted + (new.merged_into IS NULL AND new.deleted),
        merged = merged + (new.merged_into IS NOT NULL),
        tokens = tokens + new.token_count * (new.merged_into IS NULL);
END;
CREATE TRIGGER totals_with_changed_chunk AFTER UPDATE OF token_count, deleted, merged_into ON chunks
WHEN (new.token_count, new.deleted, new.merged_into) IS NOT (old.token_count, old.deleted, old.merged_into) BEGIN
    UPDATE totals SET
        chunks = chunks + (new.merged_into IS NULL) - (old.merged_into IS NULL),
        deleted = deleted + (new.merged_into IS NULL AND new.deleted) - (old.merged_into IS NULL AND old.deleted),
        merged = merged + (new.merged_into IS NOT NULL) - (old.merged_into IS NOT NULL),
        tokens = tokens + new.token_count * (new.merged_into IS NULL) - old.token_count * (old.merged_into IS NULL);
END;
CREATE TRIGGER totals_without_chunk AFTER DELETE ON chunks BEGIN
    UPDATE totals SET
        chunks = chunks - (old.merged_into IS NULL),
        deleted = deleted - (old.merged_into IS NULL AND old.deleted),
        merged = merged - (old.merged_into IS NOT NULL),
        tokens = tokens - old.token_count * (old.merged_into IS NULL);
END;

CREATE TABLE vector_totals (embedder INTEGER PRIMARY KEY, vectors INTEGER NOT NULL) STRICT;
INSERT INTO vector_totals {TOTALS_OF_VECTORS};
CREATE TRIGGER vector_total_of_new_embedder AFTER INSERT ON embedders BEGIN
    INSERT INTO vector_totals VALUES (new.id, 0);
END;
CREATE TRIGGER vector_total_of_removed_embedder AFTER DELETE ON embedders BEGIN
    DELETE FROM vector_totals WHERE embedder = old.id;
END;
CREATE TRIGGER vector_total_with_new_vector AFTER INSERT ON vectors WHEN new.vector IS NOT NULL BEGIN
    UPDATE vector_totals SET vectors = vectors + 1 WHERE embedder = new.embedder;
END;
CREATE TRIGGER vector_total_with_changed_vector AFTER UPDATE OF vector ON vectors
WHEN (new.vector IS NULL) != (old.vector IS NULL) BEGIN
    UPDATE vector_totals SET vectors = vectors + (new.vector IS NOT NULL) - (old.vector IS NOT NULL)
        WHERE embedder = new.embedder;
END;
CREATE TRIGGER vector_total_without_vector AFTER DELETE ON vectors WHEN old.vector IS NOT NULL BEGIN
    UPDATE vector_totals SET vectors = vectors - 1 WHERE embedder = old.embedder;
END;
"""

# The word index reads texts as `indexed_text` prepares them, so that it finds words of every script; wishes are
# recognised in more languages, and speakers before a wide colon. A change of what one of these functions returns
# requires the same steps again, in a new migration.
_LANGUAGES_FORM = f"""
DROP TRIGGER words_of_new_chunk;
DROP TRIGGER words_of_changed_chunk;
DROP TABLE words;
DROP VIEW searchable;
CREATE VIEW searchable AS SELECT id, indexed_text(CAST(text AS BLOB)) AS text
    FROM chunks WHERE deleted = 0 AND merged_into IS NULL;
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'searchable', content_rowid = 'id', tokenize = "{TOKENIZER}"
);
INSERT INTO words (words) VALUES ('rebuild');
CREATE TRIGGER words_of_new_chunk AFTER INSERT ON chunks WHEN new.deleted = 0 AND new.merged_into IS NULL BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, indexed_text(CAST(new.text AS BLOB)));
END;
CREATE TRIGGER words_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks BEGIN
    INSERT INTO words (words, rowid, text)
        SELECT 'delete', old.id, indexed_text(CAST(old.text AS BLOB)) WHERE old.deleted = 0 AND old.merged_into IS NULL;
    INSERT INTO words (rowid, text)
        SELECT new.id, indexed_text(CAST(new.text AS BLOB)) WHERE new.deleted = 0 AND new.merged_into IS NULL;
END;
DELETE FROM wishes;
INSERT INTO wishes {WISHES_OF_CHUNKS};
DROP TRIGGER outline_of_new_chunk;
DROP TRIGGER outline_of_changed_chunk;
{outline_triggers(FIRST_COLON_OF_ANY_WIDTH)}
DELETE FROM outlines;
INSERT INTO outlines {OUTLINES_OF_CHUNKS};
"""

# The reader's keys of each chunk's tokens. They leave with the text. A chunk has the keys of one reader only.
_TOKEN_KEYS_FORM = """
CREATE TABLE token_keys (
    chunk INTEGER PRIMARY KEY,
    reader TEXT NOT NULL,
    keys BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE TRIGGER token_keys_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks
WHEN (new.text, new.deleted, new.merged_into) IS NOT (old.text, old.deleted, old.merged_into) BEGIN
    DELETE FROM token_keys WHERE chunk = new.id;
END;
CREATE TRIGGER token_keys_of_removed_chunk AFTER DELETE ON chunks BEGIN
    DELETE FROM token_keys WHERE chunk = old.id;
END;
"""

# A chunk's keys reflect the texts that were read before it, up to 47 chunks back (`READ_REACH`). Existing keys may
# still reflect deleted texts.
_KEYS_OF_TEXTS_BEFORE_FORM = """
DELETE FROM token_keys;
DROP TRIGGER token_keys_of_changed_chunk;
CREATE TRIGGER token_keys_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks
WHEN (new.text, new.deleted, new.merged_into) IS NOT (old.text, old.deleted, old.merged_into) BEGIN
    DELETE FROM token_keys WHERE chunk >= new.id AND chunk <= new.id + 47;
END;
"""

MIGRATIONS = (
    _FIRST_FORM,
    _NOTES_FORM,
    _TREE_FORM,
    _OUTLINES_FORM,
    _WISHES_FORM,
    _BURIAL_BRIGHTNESS_FORM,
    _DAMAGE_FORM,
    _SHARING_FORM,
    _TOTALS_FORM,
    _LANGUAGES_FORM,
    _TOKEN_KEYS_FORM,
    _KEYS_OF_TEXTS_BEFORE_FORM,
)
"""Migration N upgrades a database from version N to version N + 1."""
