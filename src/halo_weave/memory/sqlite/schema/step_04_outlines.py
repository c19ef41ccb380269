"""The fields that a search needs of each chunk that was not merged away, in small rows that are read many at once."""

from halo_weave.memory.sqlite.schema.outline_sql import FIRST_COLON, outline_triggers, outlines_of_chunks

SQL = f"""
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
