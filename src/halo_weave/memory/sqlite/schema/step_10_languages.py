"""The word index reads texts as `indexed_text` prepares them, so that it finds words of every script.

Wishes are recognised in more languages, and speakers before a wide colon. A change of what one of these functions
returns requires the same statements again, in a new step.
"""

from halo_weave.memory.sqlite.schema.derived_rows import OUTLINES_OF_CHUNKS, WISHES_OF_CHUNKS
from halo_weave.memory.sqlite.schema.outline_sql import FIRST_COLON_OF_ANY_WIDTH, outline_triggers
from halo_weave.memory.words.tokenizer import TOKENIZER

SQL = f"""
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
