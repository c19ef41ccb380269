"""Totals of the SQLite memory. Triggers update them in the transaction of each change, so that no query counts rows."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from halo_weave.memory.sqlite.schema.derived_rows import TOTALS_OF_CHUNKS, TOTALS_OF_VECTORS


class StoreTotals(NamedTuple):
    """`chunks`, `deleted` and `tokens` exclude chunks that were merged away."""

    chunks: int
    deleted: int
    merged: int
    tokens: int


def read_totals(connection: sqlite3.Connection) -> StoreTotals:
    found = connection.execute("SELECT chunks, deleted, merged, tokens FROM totals").fetchone()
    if found is None:
        raise sqlite3.DatabaseError("its totals are missing")
    return StoreTotals(*found)


def vectors_by_embedder(connection: sqlite3.Connection) -> dict[str, int]:
    rows = connection.execute(
        "SELECT name, vectors FROM embedders JOIN vector_totals ON vector_totals.embedder = embedders.id"
        " WHERE vectors > 0 ORDER BY name"
    )
    return dict(rows.fetchall())


def count_again(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM totals")
    connection.execute(f"INSERT INTO totals {TOTALS_OF_CHUNKS}")
    connection.execute("DELETE FROM vector_totals")
    connection.execute(f"INSERT INTO vector_totals {TOTALS_OF_VECTORS}")


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    """Report where the totals differ from a count of all rows."""
    counted = StoreTotals(
        *connection.execute(
            "SELECT count(*) FILTER (WHERE merged_into IS NULL),"
            " count(*) FILTER (WHERE merged_into IS NULL AND deleted),"
            " count(*) FILTER (WHERE merged_into IS NOT NULL),"
            " ifnull(sum(token_count) FILTER (WHERE merged_into IS NULL), 0) FROM chunks"
        ).fetchone()
    )
    totals = read_totals(connection)
    for name, total, count in zip(StoreTotals._fields, totals, counted, strict=True):
        if total != count:
            yield f"The total of {name} is {total}, but there are {count}."
    for name, total, count in connection.execute(
        "SELECT name, ifnull(vector_totals.vectors, 0) AS total,"
        " (SELECT count(*) FROM vectors WHERE vectors.embedder = embedders.id AND vector IS NOT NULL) AS count"
        " FROM embedders LEFT JOIN vector_totals ON vector_totals.embedder = embedders.id WHERE total != count"
    ):
        yield f"The total of vectors of {name} is {total}, but there are {count}."
