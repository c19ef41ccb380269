"""A chunk's keys leave with any text that was read before it, up to 47 chunks back (`READ_REACH`).

Existing keys may still reflect deleted texts.
"""

SQL = """
DELETE FROM token_keys;
DROP TRIGGER token_keys_of_changed_chunk;
CREATE TRIGGER token_keys_of_changed_chunk AFTER UPDATE OF text, deleted, merged_into ON chunks
WHEN (new.text, new.deleted, new.merged_into) IS NOT (old.text, old.deleted, old.merged_into) BEGIN
    DELETE FROM token_keys WHERE chunk >= new.id AND chunk <= new.id + 47;
END;
"""
