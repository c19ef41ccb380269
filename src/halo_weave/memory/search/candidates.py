"""The chunks that a search considers: those found by meaning, by words and by named times, and their neighbours."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.search.chunk_filter import ChunkFilter
from halo_weave.memory.search.ranking import RankingCandidate
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.memory.vectors.nearest import Ids, best_first, similarities_to
from halo_weave.memory.vectors.unit import Vector
from halo_weave.records.chunks import Outline
from halo_weave.text.languages.dates import AFTERWARDS, named_times, nearness
from halo_weave.text.languages.words import names_in, terms_of

_LEAST_TIMES, _MOST_TIMES, _SOME_MORE = 2, 16, 1.25
_FEW = 10_000
"""Up to this many chunks, comparing them one by one is faster than finding them through an index of all."""
_FEW_OF_A_TIME = 2_000
"""If a time named in the question has at most this many chunks, all of them are compared with the question."""


class SearchQuestion:
    """What a question contains besides its meaning and words: the speakers and times that it names."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text = text
        self.now = now
        self.times = named_times(text, now)
        self._terms = frozenset(terms_of(text))
        self._named: dict[str, bool] = {}

    def names(self, speaker: str | None) -> bool:
        if speaker is None:
            return False
        if speaker not in self._named:
            self._named[speaker] = names_in(self._terms, speaker)
        return self._named[speaker]

    def nearness(self, moment: datetime) -> float:
        return nearness(self.times, moment.astimezone(self.now.tzinfo)) if self.times else 0.0


class Candidates:
    """The chunks that one search has examined, and those that passed the filter.

    If the filter's time range holds few chunks, the search compares exactly those. Otherwise it reads further and
    further down a ranking until enough chunks have passed.
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
            return self._first_passing(lambda asked: pairs(*self._index.nearest(query, asked)), count)
        ids, vectors = self._store.vectors_by_ids(self._embedder, self._among)
        return dict(pairs(*best_first(ids, similarities_to(query, vectors), count)))

    def by_words(self, terms: Sequence[str], count: int) -> dict[int, float]:
        if self._among is None:
            return self._first_passing(lambda asked: self._store.search_words(terms, asked), count)
        return dict(self._store.search_words(terms, count, among=self._among))

    def of_times(self, question: SearchQuestion, query: Vector, count: int) -> list[int]:
        """Return the closest chunks from the named times and shortly after. Skips a time with too many chunks."""
        found: list[int] = []
        for span in filter(None, (time.latest(question.now) for time in question.times)):
            outlines = self._store.outlines_between(
                span.start, span.end + AFTERWARDS, _FEW_OF_A_TIME, with_metadata=self._needs_metadata
            )
            said = {one.id: one for one in outlines or () if self._wanted.lets_through(one)}
            self._passed.update(said)
            self._looked_at.update(said)
            found += self.closest_of(np.array(sorted(said), dtype=np.int64), query, count)
        return found

    def closest_of(self, ids: Ids, query: Vector, count: int) -> list[int]:
        similarities = self._index.about_similarities(query, ids)
        known = ~np.isnan(similarities)
        return list(
            self._first_passing(lambda asked: pairs(*best_first(ids[known], similarities[known], asked)), count)
        )

    def candidate(
        self,
        chunk_id: int,
        question: SearchQuestion,
        similarity: float | None,
        word_score: float | None,
        *,
        is_wish: bool,
        attention: float = math.nan,
    ) -> RankingCandidate:
        outline = self._passed[chunk_id]
        return RankingCandidate(
            chunk_id,
            outline.first_position,
            outline.role,
            outline.turn_chunks,
            similarity,
            word_score,
            question.names(outline.speaker),
            question.nearness(outline.time),
            is_wish,
            attention,
        )

    def with_neighbours(self, found: Collection[int]) -> list[int]:
        """Return the found chunks and their direct neighbours, if these pass the filter."""
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
        """Return the first `count` entries of a ranking that pass the filter; `first(n)` returns the best n entries."""
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
        self._looked_at.update(new)

    @property
    def _needs_metadata(self) -> bool:
        return self._wanted.metadata is not None


def pairs(ids: NDArray[np.int64], values: NDArray[np.floating[Any]]) -> list[tuple[int, float]]:
    return list(zip(ids.tolist(), values.tolist(), strict=True))
