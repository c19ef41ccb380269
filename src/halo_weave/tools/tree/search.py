"""Searches entries of the memory tree by the content of their snapshots.

A chunk without a vector from the serving embedder is embedded when it is searched, from its own text alone, and the
vector is stored. This happens to snapshots made with another embedder. It also happens after the store removed a vector
that may encode deleted text around its chunk.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from halo_weave.errors import StoreError
from halo_weave.memory.memory import Memory
from halo_weave.memory.vectors.unit import Vector
from halo_weave.records.tree import SnapshotChunk, TreeEntry
from halo_weave.records.tree_paths import heading_of
from halo_weave.text.languages.words import terms_of
from halo_weave.tools.tree.entries import NearChunk, ScoredEntry, words_of

_NEAR = 0.5
_OWN_CHARACTERS = 1000
"""Characters of an entry's own text to compare: about as much as an embedder reads."""
_FADES_WITHIN = timedelta(days=30)


class _Question(NamedTuple):
    """A search query. Without an embedder, it is compared by words."""

    words: frozenset[str]
    embedder: str | None
    vector: Vector | None


class _Found(NamedTuple):
    similarity: float
    id: int


class TreeSearch:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._own_vectors = _OwnVectors(memory)

    def scored(
        self, root: str, entries: Sequence[TreeEntry], query: str, recency_bias: float, now: datetime
    ) -> list[ScoredEntry]:
        """Return the entries, best first, or newest first without a query."""
        similarities, chunks = self._similarities(root, entries, query) if query.strip() else ({}, {})
        scored = []
        for entry in entries:
            recency = math.exp(-max(now - entry.modified, timedelta(0)) / _FADES_WITHIN)
            similarity = similarities.get(entry.path)
            score = recency
            if similarity is not None:
                score = (1 - recency_bias) * similarity + recency_bias * recency
            scored.append(
                ScoredEntry(
                    path=entry.path,
                    content=msgspec.json.decode(entry.content),
                    version=entry.version,
                    created=entry.created,
                    modified=entry.modified,
                    score=score,
                    similarity=similarity,
                    recency=recency,
                    chunks=chunks.get(entry.path, []),
                )
            )
        return sorted(scored, key=lambda one: (-one.score, -one.modified.timestamp(), one.path))

    def _similarities(
        self, root: str, entries: Sequence[TreeEntry], query: str
    ) -> tuple[dict[str, float], dict[str, list[NearChunk]]]:
        """Return the similarity of each entry, and its chunks above the threshold, the most similar first."""
        question = self._question(query)
        found: dict[str, list[_Found]] = {}
        for path, one in self._compared(root, question):
            found.setdefault(path, []).append(one)
        near = {
            path: sorted((one for one in ones if one.similarity > _NEAR), reverse=True) for path, ones in found.items()
        }
        chunks = self._memory.tree_store.tree_snapshot_chunks([one.id for ones in near.values() for one in ones])
        similarities = self._own_similarities(question, [entry for entry in entries if entry.path not in found])
        similarities |= {path: max(ones).similarity for path, ones in found.items()}
        return {path: max(0.0, similarity) for path, similarity in similarities.items()}, {
            path: [NearChunk(chunks[one.id], one.similarity) for one in ones if one.id in chunks]
            for path, ones in near.items()
        }

    def _question(self, query: str) -> _Question:
        words = frozenset(terms_of(query))
        made = self._memory.embed_texts([query])
        return _Question(words, None, None) if made is None else _Question(words, made[0], made[1][0])

    def _compared(self, root: str, question: _Question) -> Iterator[tuple[str, _Found]]:
        known = self._memory.tree_store.tree_vectors_under(root, question.embedder)
        if question.vector is not None and known.ids:
            values = (known.vectors @ question.vector).tolist()
            yield from zip(known.paths, map(_Found, values, known.ids), strict=True)
        if known.others:
            chunks = self._memory.tree_store.tree_snapshot_chunks([number for _, number in known.others])
            renewed = self._renewed(question.embedder, list(chunks.values()))
            for path, number in known.others:
                if number in chunks:
                    text, vector = chunks[number].text, renewed.get(number)
                    yield path, _Found(_similarity(question, text, vector), number)

    def _renewed(self, embedder: str | None, chunks: Sequence[SnapshotChunk]) -> dict[int, Vector]:
        """Embed chunks with this embedder and store the vectors for the next search. Blank text has no vector."""
        texts = list(dict.fromkeys(one.text for one in chunks if one.text.strip()))
        made = self._memory.embed_texts(texts) if texts and embedder is not None else None
        if made is None or made[0] != embedder:
            return {}
        known = dict(zip(texts, made[1], strict=True))
        renewed = {one.id: known[one.text] for one in chunks if one.text in known}
        with suppress(StoreError):
            self._memory.tree_store.put_tree_vectors(embedder, renewed)
        return renewed

    def _own_similarities(self, question: _Question, entries: Sequence[TreeEntry]) -> dict[str, float]:
        """Compare the headings and contents of entries without a snapshot."""
        texts = {
            entry.path: f"{heading_of(entry.path)} {words_of(msgspec.json.decode(entry.content))}"[:_OWN_CHARACTERS]
            for entry in entries
        }
        vectors = self._own_vectors.of(question.embedder, list(dict.fromkeys(texts.values())))
        return {path: _similarity(question, text, vectors.get(text)) for path, text in texts.items()}


class _OwnVectors:
    """An LRU cache for the vectors of entries' own text."""

    _MOST = 4096

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, embedder: str | None, texts: Sequence[str]) -> dict[str, Vector]:
        if embedder is None:
            return {}
        with self._lock:
            known = {text: self._known[embedder, text] for text in texts if (embedder, text) in self._known}
        missing = [text for text in texts if text not in known]
        made = self._memory.embed_texts(missing) if missing else None
        if made is not None and made[0] == embedder:
            known |= zip(missing, made[1], strict=True)
        with self._lock:
            for text, vector in known.items():
                self._known[embedder, text] = vector
                self._known.move_to_end((embedder, text))
            while len(self._known) > self._MOST:
                self._known.popitem(last=False)
        return known


def _similarity(question: _Question, text: str, vector: Vector | None) -> float:
    """Return the cosine similarity or, without vectors, the share of the query's words that are in the text."""
    if question.vector is not None and vector is not None:
        return float(question.vector @ vector)
    return len(question.words.intersection(terms_of(text))) / len(question.words) if question.words else 0.0
