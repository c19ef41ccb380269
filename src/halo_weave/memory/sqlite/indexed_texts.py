"""What the word index reads of a text, as an SQL function for the schema's triggers and view."""

import sqlite3

from halo_weave.text.languages.words import indexed_text


def offer(connection: sqlite3.Connection) -> None:
    """Register the SQL function `indexed_text(blob)`."""
    connection.create_function("indexed_text", 1, _indexed_text, deterministic=True)


def _indexed_text(text: bytes) -> str:
    # Python cannot receive text that is not UTF-8, and a damaged memory must still be opened and repaired.
    return indexed_text(text.decode(errors="replace"))
