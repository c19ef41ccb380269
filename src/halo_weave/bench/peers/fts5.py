"""BM25 of SQLite's FTS5, with the stemmer for English that comes with it."""

import re
import sqlite3
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Corpus, Peer

_DATABASE = "fts5.db"


class Fts5:
    def __init__(self, _: Corpus, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / _DATABASE)

    def search(self, text: str, _: NDArray[np.float32], limit: int) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
        if not words:
            return []
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._connection.execute(query, (words, limit))]

    def close(self) -> None:
        self._connection.close()


def _build(corpus: Corpus, folder: Path) -> None:
    connection = sqlite3.connect(folder / _DATABASE)
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    for batch in corpus.batches():
        rows = zip(batch.ids, batch.texts, strict=True)
        connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    connection.commit()
    connection.close()


FTS5 = Peer("fts5", (), _build, Fts5)
