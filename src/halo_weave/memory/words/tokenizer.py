"""Words and their places in text, as SQLite's FTS5 tokenizes it."""

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from halo_weave.memory.words.index_file import Words

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""The FTS5 tokenizer setting, which the memory's own tables use too. Many scripts write vowels as marks (M)."""

_MOST_REMEMBERED = 10_000
_INSTANCES_AT_ONCE = 1_000_000


class WordTokenizer:
    """An in-memory FTS5 table that tokenizes like the memory's own. Not thread-safe.

    Both read texts and terms as `text.languages.words` prepares them.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = \"{TOKENIZER}\")"
        )
        self._connection.execute("CREATE VIRTUAL TABLE instances USING fts5vocab (words, instance)")
        self._known: dict[str, list[bytes]] = {}

    def words_of(self, terms: Sequence[str]) -> list[list[bytes]]:
        """Return the words of each term."""
        if len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        unknown = [term for term in dict.fromkeys(terms) if term not in self._known]
        if unknown:
            self._fill(list(enumerate(unknown)))
            self._known |= {term: [] for term in unknown}
            for word, place in self._connection.execute(
                "SELECT CAST(term AS BLOB), doc FROM instances ORDER BY doc, offset"
            ):
                self._known[unknown[place]].append(word)
        return [self._known[term] for term in terms]

    def take_apart(self, texts: Sequence[tuple[int, str]]) -> Iterator[Words]:
        """Tokenize texts that are identified by a number."""
        self._fill(texts)
        return words_and_places(self._connection, "instances")

    def close(self) -> None:
        self._connection.close()

    def _fill(self, texts: Sequence[tuple[int, str]]) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self._connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
        self._connection.execute("COMMIT")


def words_and_places(connection: sqlite3.Connection, instances: str) -> Iterator[Words]:
    """Yield all words of an index, in order, from an fts5vocab table of the type instance."""
    # A word may be cut inside a character, so it is bytes, not text. The rows of a word come in chunk order. Handling
    # each row, or even each word, separately would take minutes in a large memory, hence the comma-separated lists.
    rows = connection.execute(f"SELECT CAST(term AS BLOB), group_concat(doc), count(*) FROM {instances} GROUP BY term")
    part: list[tuple[bytes, str, int]] = []
    size = 0
    for row in rows:
        part.append(row)
        size += row[2]
        if size >= _INSTANCES_AT_ONCE:
            yield _counted(part)
            part, size = [], 0
    if part:
        yield _counted(part)


def _counted(rows: list[tuple[bytes, str, int]]) -> Words:
    ids = np.fromstring(",".join([row[1] for row in rows]), dtype=np.int64, sep=",")
    word_of = np.repeat(np.arange(len(rows)), [row[2] for row in rows])
    is_first = np.ones(len(ids), dtype=bool)
    is_next_word = word_of[1:] != word_of[:-1]
    is_first[1:] = (ids[1:] != ids[:-1]) | is_next_word
    if ((ids[1:] < ids[:-1]) & ~is_next_word).any():
        raise sqlite3.DatabaseError("the chunks of a word are out of order")
    starts = np.flatnonzero(is_first)
    return Words(
        words=[row[0] for row in rows],
        counts=np.bincount(word_of[starts], minlength=len(rows)),
        ids=ids[starts].astype(np.uint32),
        frequencies=np.diff(starts, append=len(ids)).astype(np.uint32),
    )
