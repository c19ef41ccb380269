"""Totals that triggers keep, so that reading them does not require counting rows; see `sqlite.totals`."""

from halo_weave.memory.sqlite.schema.derived_rows import TOTALS_OF_CHUNKS, TOTALS_OF_VECTORS

SQL = f"""
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
