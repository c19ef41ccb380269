"""Word search in the SQLite memory: by FTS5 while the memory is small, later through a word index file.

FTS5 reads every occurrence of every word and looks up the length of every match, which gets slower as the memory grows;
the file has both ready. Both give the same results, so queries that the file does not support go to FTS5.
"""

import itertools
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.sqlite import settings
from halo_weave.memory.sqlite.counters import read_counters
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.words.bm25 import CorpusTotals
from halo_weave.memory.words.index import WordIndex
from halo_weave.memory.words.index_file import IndexOrigin, Words, add_where_found
from halo_weave.memory.words.tokenizer import WordTokenizer, words_and_places
from halo_weave.records.chunks import PART, WordCounts, WordMatch, WordPlaces
from halo_weave.text.languages.language import Language
from halo_weave.text.languages.stems import STEMMED, tag_of
from halo_weave.text.languages.words import phrases_of

_SAMPLES = 64
_TOTALS_ROW = 1


class SqliteWords:
    """`from_chunks` is the number of chunks from which an index file is built; None never builds one."""

    def __init__(self, database: Database, from_chunks: int | None) -> None:
        self._database = database
        self._tokenizer = WordTokenizer()
        self._tokenizing = threading.Lock()
        self._known_languages: tuple[int, list[Language]] = (-1, [])
        self._index = (
            None if from_chunks is None else WordIndex(index_path(database.path), self._source, from_chunks=from_chunks)
        )

    def search(self, terms: Sequence[str], limit: int, among: Sequence[int] | None) -> list[WordMatch]:
        if not terms or limit < 1:
            return []
        with self._database.reading() as connection:
            phrases = list(dict.fromkeys(phrase for forms in self._forms(connection, terms) for phrase in forms))
            if not phrases:
                return []
            if self._index is not None and (words := self._single_words(phrases)) is not None:
                found = self._index.best(_View(connection), [word for word in words if word], limit, among)
                if found is not None:
                    return found
            rows = connection.execute(
                "SELECT rowid, -rank FROM words WHERE words MATCH ?1"
                " AND (?2 IS NULL OR rowid IN (SELECT value FROM json_each(?2))) ORDER BY rank, rowid LIMIT ?3",
                (
                    " OR ".join(map(_quoted, phrases)),
                    None if among is None else msgspec.json.encode(list(among)).decode(),
                    limit,
                ),
            )
            return [WordMatch(*row) for row in rows]

    def count(self, terms: Sequence[str]) -> WordCounts:
        with self._database.reading() as connection:
            chunks = _View(connection).totals().chunks
            forms = self._forms(connection, terms)
            counts = iter(self._counts(connection, [phrase for own in forms for phrase in own]))
            return WordCounts(chunks, [min(chunks, sum(itertools.islice(counts, len(own)))) for own in forms])

    def places(self, terms: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        with self._database.reading() as connection:
            view = _View(connection)
            words_of_forms = [self._words_of(forms) for forms in self._forms(connection, terms)]
            words = list(dict.fromkeys(word for forms in words_of_forms for own in forms for word in own))
            found = None if self._index is None else self._index.places(view, words, ids)
            places = dict(zip(words, view.places(words, ids) if found is None else found, strict=True))
            parts = view.last_id() // PART + 1
        frequencies, having = np.zeros((len(terms), len(ids))), np.zeros(len(terms), dtype=np.int64)
        for place, forms in enumerate(words_of_forms):
            for own in filter(None, forms):
                frequencies[place] += np.minimum.reduce([places[word][0] for word in own])
                having[place] += min(places[word][1] for word in own)
        return WordPlaces(frequencies, np.minimum(having, parts), parts)

    def wait_until_indexed(self) -> None:
        if self._index is not None:
            self._index.wait_until_built()

    def remove_index(self) -> None:
        """Remove the index file, because data removed from the memory must not survive in a cache."""
        if self._index is not None:
            self._index.remove()
        else:
            index_path(self._database.path).unlink(missing_ok=True)

    def close(self) -> None:
        self._tokenizer.close()
        if self._index is not None:
            self._index.close()

    def _forms(self, connection: sqlite3.Connection, terms: Iterable[str]) -> list[list[str]]:
        """Return the phrases that the index may have for each term, in all languages of the memory."""
        languages = self._languages(connection)
        return [phrases_of(_clean(term), languages) for term in terms]

    def _languages(self, connection: sqlite3.Connection) -> list[Language]:
        change = read_counters(connection).change
        if self._known_languages[0] != change:
            counts = self._counts(connection, [tag_of(language) for language in STEMMED])
            known = [language for language, count in zip(STEMMED, counts, strict=True) if count]
            self._known_languages = (change, known)
        return self._known_languages[1]

    def _counts(self, connection: sqlite3.Connection, phrases: Sequence[str]) -> list[int]:
        if self._index is not None and (words := self._single_words(phrases)) is not None:
            counts = self._index.counts(_View(connection), words)
            if counts is not None:
                return counts
        return [_count(connection, phrase) for phrase in phrases]

    def _words_of(self, phrases: Sequence[str]) -> list[list[bytes]]:
        with self._tokenizing:
            return self._tokenizer.words_of(phrases)

    def _single_words(self, phrases: Sequence[str]) -> list[bytes] | None:
        """Return the single word of each phrase, empty if it has none; None if a phrase has several words."""
        words = self._words_of(phrases)
        return [b"".join(one) for one in words] if all(len(one) <= 1 for one in words) else None

    @contextmanager
    def _source(self) -> Iterator["_View"]:
        with self._database.reading() as connection:
            yield _View(connection)


def index_path(database: Path) -> Path:
    return database.with_name(database.name + "-words")


class _View:
    """A word source that reads from one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def change_number(self) -> int:
        return read_counters(self._connection).change

    def totals(self) -> CorpusTotals:
        """Read the totals from FTS5's internal table: the number of rows, then of tokens, as varints."""
        query = "SELECT block FROM words_data WHERE id = ?"
        found = self._connection.execute(query, (_TOTALS_ROW,)).fetchone()
        numbers = [] if found is None else _numbers(found[0])
        return CorpusTotals(*numbers[:2]) if len(numbers) >= 2 else CorpusTotals(0, 0)

    def origin(self) -> IndexOrigin:
        newest = self._connection.execute(
            "SELECT id, checksum FROM chunks ORDER BY change DESC LIMIT ?", (_SAMPLES,)
        ).fetchall()
        return IndexOrigin(settings.identity(self._connection), self.change_number(), self.last_id() + 1, dict(newest))

    def is_still(self, origin: IndexOrigin) -> bool:
        if origin.identity != settings.identity(self._connection):
            return False
        query = "SELECT change, checksum FROM chunks WHERE id = ?"
        for chunk_id, expected in origin.samples.items():
            found = self._connection.execute(query, (chunk_id,)).fetchone()
            if found is None or (found[0] <= origin.change_number and found[1] != expected):
                return False
        return True

    def changed_after(self, change_number: int, limit: int) -> list[tuple[int, str | None]]:
        return self._connection.execute(
            "SELECT id, CASE WHEN deleted = 0 AND merged_into IS NULL THEN indexed_text(CAST(text AS BLOB)) END"
            " FROM chunks WHERE change > ? LIMIT ?",
            (change_number, limit),
        ).fetchall()

    def all_words(self) -> Iterator[Words]:
        return words_and_places(self._connection, self._instances())

    def last_id(self) -> int:
        (last,) = self._connection.execute("SELECT ifnull(max(id), 0) FROM chunks").fetchone()
        return int(last)

    def places(self, words: Sequence[bytes], ids: NDArray[np.int64]) -> list[tuple[NDArray[np.float64], int]]:
        """Return each word's frequency in each of these chunks, and how many parts of the memory contain it."""
        query = f"SELECT group_concat(doc) FROM {self._instances()} WHERE term = ?"
        found = []
        for word in words:
            (listed,) = self._connection.execute(query, (word.decode(errors="replace"),)).fetchone()
            chunks = np.fromstring(listed or "", dtype=np.int64, sep=",")
            frequencies = np.zeros(len(ids))
            add_where_found(frequencies, ids, chunks, np.ones(len(chunks)))
            found.append((frequencies, len(np.unique(chunks // PART))))
        return found

    def _instances(self) -> str:
        # Rolling back the transaction drops this table.
        self._connection.execute("CREATE VIRTUAL TABLE temp.instances_of_words USING fts5vocab (main, words, instance)")
        return "temp.instances_of_words"


def _count(connection: sqlite3.Connection, phrase: str) -> int:
    if not phrase:
        return 0
    found = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (_quoted(phrase),)).fetchone()
    return int(found[0])


def _numbers(block: bytes) -> list[int]:
    """Decode varints: seven bits per byte, highest first; the eighth bit means that more bytes follow."""
    numbers, number = [], 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers


def _clean(term: str) -> str:
    """NUL becomes a space and unpaired surrogates become question marks."""
    return term.replace("\0", " ").encode(errors="replace").decode()


def _quoted(phrase: str) -> str:
    """Quote a phrase for FTS5; inside quotes, only the quote character is special."""
    return f'"{phrase.replace(chr(34), chr(34) * 2)}"'
