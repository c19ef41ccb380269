"""What our search needs of a word index, asked of our own and of tantivy: more than the best chunks for some words."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Corpus

if TYPE_CHECKING:
    import tantivy

PART = 32
"""Chunks in a part of the memory."""
CANDIDATES = 64
_PLACES, _AROUND = 128, 16
_WRITES = 10
_EXPLAINED_FREQUENCY = re.compile(r'"value": ([0-9.]+),\s*"description": "freq, ')


class WordPlaces(NamedTuple):
    """For each word its frequency in each of the given chunks, and the number of parts of the memory that have it."""

    frequencies: NDArray[np.float64]
    parts: list[int]


class WordIndex(Protocol):
    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """Return the best chunks by BM25."""
        ...

    def counts(self, words: Sequence[str]) -> list[int]:
        """Return how many chunks contain each word."""
        ...

    def places(self, words: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces: ...

    def write(self, text: str) -> None:
        """Write a chunk durably; the next call finds it."""
        ...

    def close(self) -> None: ...


class WordTimes(msgspec.Struct, frozen=True):
    """Milliseconds of each question or write. `written_ms` ends when a search finds what was written."""

    best_ms: list[float] = []
    counts_ms: list[float] = []
    places_ms: list[float] = []
    written_ms: list[float] = []


def measure_words(index: WordIndex, questions: Iterable[str], last_id: int) -> WordTimes:
    random = np.random.default_rng(1)
    best, counts, places = [], [], []
    for question in questions:
        words = words_of(question)
        starts = random.integers(0, max(1, last_id - 2 * _AROUND), _PLACES)
        ids = np.unique(np.add.outer(starts, np.arange(1, 2 * _AROUND + 2)))
        best.append(_milliseconds(index.best, words, CANDIDATES))
        counts.append(_milliseconds(index.counts, words))
        places.append(_milliseconds(index.places, words, ids))
    return WordTimes(best, counts, places, [_milliseconds(_write_and_find, index, n) for n in range(_WRITES)])


def words_of(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\w+", text.lower())))


def _write_and_find(index: WordIndex, number: int) -> None:
    word = f"newword{number}"
    index.write(f"A chunk with the {word} in it")
    if not index.best([word], 1):
        raise RuntimeError(f"{word} was written, but is not found")


def _milliseconds(do: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    do(*arguments)
    return (time.perf_counter() - started) * 1000


class OurWords:
    """Opens the corpus itself, so it must be a copy: it is written to."""

    def __init__(self, corpus: Corpus, _: Path) -> None:
        from halo_weave.memory.sqlite.store import SqliteStore

        self._store = SqliteStore(Path(corpus.database))

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        return [match.id for match in self._store.search_words(words, limit)]

    def counts(self, words: Sequence[str]) -> list[int]:
        return list(self._store.count_words(words).having)

    def places(self, words: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        found = self._store.word_places(words, ids)
        return WordPlaces(found.frequencies, found.having.tolist())

    def write(self, text: str) -> None:
        from halo_weave.records.chunks import Chunk, ChunkKey, utc_now
        from halo_weave.records.tokens import Token

        reserved = self._store.reserve(1)
        key = ChunkKey(reserved.turn_user, 0, "user")
        token = [Token(0, text)]
        self._store.write_chunks([Chunk.of_tokens(key, token, first_position=reserved.position_start, time=utc_now())])

    def close(self) -> None:
        self._store.close()


class TantivyWords:
    """tantivy has no call for a word's frequencies, so they come from its explanations of scores."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        import tantivy

        self._tantivy = tantivy
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", indexed=True, fast=True)
        schema.add_integer_field("part", fast=True)
        schema.add_text_field("text", tokenizer_name="en_stem")
        self._index = tantivy.Index(schema.build(), str(folder))
        self._writer = self._index.writer()
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        self._stem = analyzer.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.stemmer("english")).build()
        self._next_id = 0
        for batch in corpus.batches():
            for chunk_id, text in zip(batch.ids, batch.texts, strict=True):
                self._add(chunk_id, text)
        self._commit()

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        hits = self._searcher.search(self._any_of(map(self._term, words)), limit, count=False).hits
        return self._ids([address for _, address in hits])

    def counts(self, words: Sequence[str]) -> list[int]:
        return [self._searcher.doc_freq("text", self._stemmed(word)) for word in words]

    def places(self, words: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        frequencies = np.zeros((len(words), len(ids)))
        among = self._tantivy.Query.term_set_query(self._index.schema, "id", ids.tolist())
        parts = []
        for row, term in enumerate(map(self._term, words)):
            hits = self._searcher.search(self._all_of((term, among)), len(ids), count=False).hits
            addresses = [address for _, address in hits]
            places = np.searchsorted(ids, self._ids(addresses))
            for place, address in zip(places.tolist(), addresses, strict=True):
                frequencies[row, place] = _frequency(term.explain(self._searcher, address).to_json())
            parts.append(round(self._searcher.cardinality(term, "part")))
        return WordPlaces(frequencies, parts)

    def write(self, text: str) -> None:
        self._add(self._next_id, text)
        self._commit()

    def close(self) -> None:
        self._writer.wait_merging_threads()

    def _add(self, chunk_id: int, text: str) -> None:
        self._next_id = max(self._next_id, chunk_id + 1)
        self._writer.add_document(self._tantivy.Document(id=chunk_id, part=chunk_id // PART, text=text))

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def _ids(self, addresses: "list[tantivy.DocAddress]") -> list[int]:
        return [int(one or 0) for one in self._searcher.fast_field_values("id", addresses)]

    def _stemmed(self, word: str) -> str:
        return "".join(self._stem.analyze(word))

    def _term(self, word: str) -> "tantivy.Query":
        return self._tantivy.Query.term_query(self._index.schema, "text", self._stemmed(word))

    def _any_of(self, queries: "Iterable[tantivy.Query]") -> "tantivy.Query":
        return self._tantivy.Query.boolean_query([(self._tantivy.Occur.Should, query) for query in queries])

    def _all_of(self, queries: "Iterable[tantivy.Query]") -> "tantivy.Query":
        return self._tantivy.Query.boolean_query([(self._tantivy.Occur.Must, query) for query in queries])


WORD_INDEXES: dict[str, Callable[[Corpus, Path], WordIndex]] = {"halo-weave": OurWords, "tantivy": TantivyWords}


def _frequency(explanation: str) -> float:
    found = _EXPLAINED_FREQUENCY.search(explanation)
    if found is None:
        raise RuntimeError(f"tantivy explains a score in another form: {explanation}")
    return float(found[1])
