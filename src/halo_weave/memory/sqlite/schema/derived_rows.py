"""Queries for rows that follow from other rows.

Released steps fill tables with them, and repair fills the tables again. A step must keep its text: before one of these
queries changes, the steps that use it get a copy.
"""

from halo_weave.memory.sqlite.schema.outline_sql import FIRST_COLON_OF_ANY_WIDTH, outlines_of_chunks

OUTLINES_OF_CHUNKS = outlines_of_chunks(FIRST_COLON_OF_ANY_WIDTH)
WISHES_OF_CHUNKS = "SELECT id FROM chunks WHERE role = 'user' AND is_wish(CAST(text AS BLOB))"
TOTALS_OF_CHUNKS = """SELECT
    1,
    ifnull(sum(merged_into IS NULL), 0),
    ifnull(sum(merged_into IS NULL AND deleted), 0),
    ifnull(sum(merged_into IS NOT NULL), 0),
    ifnull(sum(token_count * (merged_into IS NULL)), 0)
    FROM chunks"""
TOTALS_OF_VECTORS = """SELECT
    id, (SELECT count(*) FROM vectors WHERE embedder = embedders.id AND vector IS NOT NULL) FROM embedders"""
