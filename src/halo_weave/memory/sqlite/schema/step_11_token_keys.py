"""The reader's keys of each chunk's tokens. They leave with the text. A chunk has the keys of one reader only."""

SQL = """
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
