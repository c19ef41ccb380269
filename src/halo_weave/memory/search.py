"""Search of the whole memory by meaning and by words at once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.embedding import Embedder
from halo_weave.memory.meanwhile import Meanwhile
from halo_weave.memory.nearest import best_first, similarities_to
from halo_weave.memory.query_terms import TellingTerms, Term
from halo_weave.memory.ranking import CLOSE, WIDE, Candidate, Ranked, Surroundings, around, diverse, fused
from halo_weave.memory.records import Chunk, Outline, Role
from halo_weave.memory.search_settings import SearchSettings
from halo_weave.memory.store import Store
from halo_weave.memory.vector_index import VectorIndex

_LEAST_TIMES, _MOST_TIMES, _SOME_MORE = 2, 16, 1.25
_FEW = 10_000
"""Chunks that are compared one by one faster than any index finds those among all."""
Vector = NDArray[np.float32]


class Hit(msgspec.Struct, frozen=True):
    """A chunk and why it was found.

    `score` is what the order follows from, unless diversity was asked for: the logarithm of how much likelier the chunk
    is to be meant than the last one that was looked at. Ranks count from 1 among what the filters let through, and are
    None where meaning or words did not put the chunk forward themselves: it then stands beside what they did.
    `similarity` is the cosine to the question, None if the chunk has no vector yet; `word_score` is BM25.
    """

    id: int
    chunk: Chunk
    score: float
    similarity: float | None
    vector_rank: int | None
    word_rank: int | None
    word_score: float | None


class ChunkFilter(msgspec.Struct, frozen=True):
    """What a chunk must be to be found; None lets all through.

    `since` is included, `until` is not. `metadata` names entries that the chunk's metadata must have with these values.
    """

    roles: Collection[Role] | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, time in (("since", self.since), ("until", self.until)):
            if time is not None and time.tzinfo is None:
                raise InputError(f"The time {time} of {name} has no time zone.")

    def lets_through(self, chunk: Outline) -> bool:
        return (
            not chunk.deleted
            and (self.roles is None or chunk.role in self.roles)
            and (self.since is None or chunk.time >= self.since)
            and (self.until is None or chunk.time < self.until)
            and (self.metadata is None or _has(chunk.metadata or {}, self.metadata))
        )


class MemorySearch:
    """May be used from several threads if the embedder may."""

    def __init__(
        self, store: Store, embedder: Embedder, index: VectorIndex, settings: SearchSettings | None = None
    ) -> None:
        if index.embedder != embedder.name:
            raise InputError(
                f"The index has vectors of {index.embedder}, but questions are embedded by {embedder.name}."
            )
        self._store = store
        self._embedder = embedder
        self._index = index
        self._settings = settings or SearchSettings()
        self._terms = TellingTerms(store, self._settings.common_words_share)

    def search(
        self,
        text: str,
        *,
        limit: int = 50,
        roles: Collection[Role] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        mmr_lambda: float | None = None,
    ) -> list[Hit]:
        """The best chunks for a text, best first, fewer than `limit` only if no more pass the filters.

        `mmr_lambda` from 0 to 1 trades closeness to the text (1) against difference from what ranks higher (0).
        """
        if not text.strip():
            return []
        wanted = ChunkFilter(roles=roles, since=since, until=until, metadata=metadata)
        return self._search(text, lambda: self._embedder.embed([text])[0], wanted, limit, mmr_lambda)

    def search_embedded(
        self,
        text: str,
        vector: Vector,
        wanted: ChunkFilter | None = None,
        *,
        limit: int = 50,
        mmr_lambda: float | None = None,
    ) -> list[Hit]:
        """The same for a text whose vector is known already."""
        return self._search(text, lambda: vector, wanted or ChunkFilter(), limit, mmr_lambda)

    def _search(
        self, text: str, embedded: Callable[[], Vector], wanted: ChunkFilter, limit: int, mmr_lambda: float | None
    ) -> list[Hit]:
        if limit < 1:
            raise InputError(f"{limit} chunks cannot be searched for; it takes at least 1.")
        if mmr_lambda is not None and not 0 <= mmr_lambda <= 1:
            raise InputError(f"The share {mmr_lambda} of closeness in the order is not from 0 to 1.")
        candidates = _Candidates(self._store, self._embedder.name, self._index, wanted)
        depth = max(limit, self._settings.candidates)
        # The embedder wants all processors for itself; what shares them slows it down more than it gains.
        vector = embedded()
        by_words = Meanwhile(lambda: self._by_words(text, candidates, depth))
        try:
            similarities = candidates.nearest(vector, depth)
        finally:
            by_words.wait()
        terms, word_scores = by_words.result()
        found = candidates.with_neighbours({*similarities, *word_scores})
        ranked = fused(
            [candidates.candidate(one, similarities.get(one), word_scores.get(one)) for one in found],
            self._surroundings(found, terms, vector),
            user_boost=self._settings.user_boost,
        )
        return self._hits(self._chosen(ranked, limit, mmr_lambda))

    def _by_words(self, text: str, candidates: "_Candidates", depth: int) -> tuple[list[Term], dict[int, float]]:
        terms = self._terms.of(text)
        return terms, candidates.by_words([term.text for term in terms], depth)

    def _surroundings(self, found: Collection[int], terms: Sequence[Term], vector: Vector) -> Surroundings:
        ids = np.array(sorted(found), dtype=np.int64)
        wide, close = around(ids, WIDE), around(ids, CLOSE)
        by_words = Meanwhile(lambda: self._store.word_places([term.text for term in terms], wide))
        similarities = np.full(len(wide), np.nan)
        try:
            similarities[np.searchsorted(wide, close)] = self._index.similarities(vector, close)
        finally:
            by_words.wait()
        places = by_words.result()
        return Surroundings(
            ids=wide,
            frequencies=places.frequencies,
            shares=np.array([term.share for term in terms]),
            part_shares=np.maximum(places.having, 1) / places.parts,
            similarities=similarities,
        )

    def _chosen(self, ranked: list[Ranked], limit: int, mmr_lambda: float | None) -> list[Ranked]:
        if mmr_lambda is None:
            return ranked[:limit]
        vectors = self._vectors([one.candidate.id for one in ranked])
        without = np.zeros(self._embedder.dimensions, dtype=np.float32)
        matrix = np.array([vectors.get(one.candidate.id, without) for one in ranked]).reshape(len(ranked), -1)
        scores = np.array([one.score for one in ranked])
        return [ranked[place] for place in diverse(scores, matrix @ matrix.T, mmr_lambda, limit)]

    def _hits(self, ranked: Sequence[Ranked]) -> list[Hit]:
        chunks = dict(self._store.chunks_by_ids([one.candidate.id for one in ranked]))
        return [
            Hit(
                id=one.candidate.id,
                chunk=chunks[one.candidate.id],
                score=one.score,
                similarity=one.similarity,
                vector_rank=one.vector_rank,
                word_rank=one.word_rank,
                word_score=one.candidate.word_score,
            )
            for one in ranked
            if one.candidate.id in chunks and not chunks[one.candidate.id].deleted
        ]

    def _vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        found, vectors = self._store.vectors_by_ids(self._embedder.name, ids)
        return dict(zip(found.tolist(), vectors.astype(np.float32), strict=True))


class _Candidates:
    """The chunks that one search has looked at; those that pass the filter are kept.

    If a time is asked for in which little was said, just that is compared. Otherwise more and more of a ranking is
    looked at until enough has passed.
    """

    def __init__(self, store: Store, embedder: str, index: VectorIndex, wanted: ChunkFilter) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._wanted = wanted
        self._looked_at: set[int] = set()
        self._passed: dict[int, Outline] = {}
        self._among = self._all_if_few()

    def nearest(self, query: Vector, count: int) -> dict[int, float]:
        if self._among is None:
            return self._first_passing(lambda asked: _pairs(*self._index.nearest(query, asked)), count)
        ids, vectors = self._store.vectors_by_ids(self._embedder, self._among)
        return dict(_pairs(*best_first(ids, similarities_to(query, vectors), count)))

    def by_words(self, terms: Sequence[str], count: int) -> dict[int, float]:
        if self._among is None:
            return self._first_passing(lambda asked: self._store.search_words(terms, asked), count)
        return dict(self._store.search_words(terms, count, among=self._among))

    def candidate(self, chunk_id: int, similarity: float | None, word_score: float | None) -> Candidate:
        outline = self._passed[chunk_id]
        return Candidate(chunk_id, outline.first_position, outline.role, outline.turn_chunks, similarity, word_score)

    def with_neighbours(self, found: Collection[int]) -> list[int]:
        """What was found and what stands right beside it, as far as it passes the filter."""
        beside = {chunk_id + step for chunk_id in found for step in (-1, 1)}.difference(found)
        if self._among is None:
            self._look_at(sorted(beside))
        return [*found, *(chunk_id for chunk_id in beside if chunk_id in self._passed)]

    def _all_if_few(self) -> list[int] | None:
        since, until = self._wanted.since, self._wanted.until
        if since is None and until is None:
            return None
        outlines = self._store.outlines_between(since, until, _FEW, with_metadata=self._needs_metadata)
        if outlines is None:
            return None
        self._passed = {outline.id: outline for outline in outlines if self._wanted.lets_through(outline)}
        return list(self._passed)

    def _first_passing(self, first: Callable[[int], Sequence[tuple[int, float]]], count: int) -> dict[int, float]:
        """The first `count` of a ranking that pass the filter, with their values; `first` gives the best so many."""
        asked = count
        while True:
            found = first(asked)
            self._look_at(chunk_id for chunk_id, _ in found)
            passed = [(chunk_id, value) for chunk_id, value in found if chunk_id in self._passed]
            if len(passed) >= count or len(found) < asked:
                return dict(passed[:count])
            enough = round(_SOME_MORE * asked * count / max(len(passed), 1))
            asked = min(max(enough, _LEAST_TIMES * asked), _MOST_TIMES * asked)

    def _look_at(self, ids: Iterable[int]) -> None:
        new = [chunk_id for chunk_id in ids if chunk_id not in self._looked_at]
        for outline in self._store.outlines_by_ids(new, with_metadata=self._needs_metadata):
            if self._wanted.lets_through(outline):
                self._passed[outline.id] = outline
        self._looked_at.update(new)  # not before: another thread takes what was looked at as decided

    @property
    def _needs_metadata(self) -> bool:
        return self._wanted.metadata is not None


def _pairs(ids: NDArray[np.int64], values: NDArray[np.float32]) -> list[tuple[int, float]]:
    return list(zip(ids.tolist(), values.tolist(), strict=True))


def _has(own: Any, wanted: Any) -> bool:
    """Of objects and lists only what is wanted must be there."""
    if isinstance(wanted, Mapping):
        return isinstance(own, Mapping) and all(name in own and _has(own[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return isinstance(own, list) and all(any(_has(entry, one) for entry in own) for one in wanted)
    return bool(own == wanted)
