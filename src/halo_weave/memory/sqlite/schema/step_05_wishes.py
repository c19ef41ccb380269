"""The chunks that contain a user's wish. A trigger cannot detect a wish, so the code that writes a text records it."""

from halo_weave.memory.sqlite.schema.derived_rows import WISHES_OF_CHUNKS

SQL = f"""
CREATE TABLE wishes (id INTEGER PRIMARY KEY) STRICT;
INSERT INTO wishes {WISHES_OF_CHUNKS};
CREATE TRIGGER wish_of_removed_chunk AFTER DELETE ON chunks BEGIN
    DELETE FROM wishes WHERE id = old.id;
END;
"""
