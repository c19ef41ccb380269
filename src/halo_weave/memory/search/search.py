"""Search of the whole memory by meaning and by words."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halo_weave.engine.reader.protocol import Look
from halo_weave.errors import InputError
from halo_weave.memory.attention.index import AttentionIndex
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.search.candidates import Candidates, SearchQuestion, pairs
from halo_weave.memory.search.chunk_filter import ChunkFilter
from halo_weave.memory.search.ordinary_messages import ORDINARY_FROM, OrdinaryMessages
from halo_weave.memory.search.query_terms import TellingTerms, Term
from halo_weave.memory.search.ranking import CLOSE, WIDE, Neighbourhood, Ranked, around, diverse, fused, word_weights
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.search.wish_list import WishList
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.centre import Centre
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.memory.vectors.unit import Vector
from halo_weave.records.chunks import Chunk, Span, utc_now
from halo_weave.records.roles import Role

_CLOSEST_WISHES = 4
CANDIDATES = 64
"""Minimum number of chunks that meaning, words and attention each contribute; their neighbours are added."""
_NET = 256
"""Chunks by meaning and by words, each, among which attention chooses."""


class Hit(msgspec.Struct, frozen=True):
    """A chunk and why it was found.

    Hits are ordered by `score` unless diversity was requested. It is the logarithm of how much likelier this chunk is
    to be meant than the lowest-ranked candidate. Ranks count from 1 among the chunks that pass the filters. A rank is
    None if that search did not find the chunk itself; the chunk is then a neighbour of one that was found, was said at
    a time that the text names, or is a wish.

    `similarity` is the cosine to the question, None if the chunk has no vector yet. The rank by meaning ignores what
    all chunks have in common, so the two may differ. `word_score` is BM25. `word_weight` sums the weights of the text's
    words that occur in the chunk; a word that occurs in no other chunk counts 1. `is_wish` marks one of the wishes
    closest to the text, `is_of_named_time` a chunk said at a time that the text names. `attention` is how strongly the
    reader looks at the chunk when it reads the text, None if it has not read the chunk; `looked_at` are the words of
    the chunk that it looks at, empty unless `with_words` filled it in.
    """

    id: int
    chunk: Chunk
    score: float
    similarity: float | None
    vector_rank: int | None
    word_rank: int | None
    word_score: float | None
    word_weight: float = 0.0
    is_wish: bool = False
    is_of_named_time: bool = False
    attention: float | None = None
    attention_rank: int | None = None
    looked_at: tuple[Span, ...] = ()


class Recollection(NamedTuple):
    """What a message brings to mind. `likeness` is how much it is like an ordinary message, which needs no memory; 0 if
    nothing is known of its meaning."""

    hits: list[Hit]
    likeness: float = 0.0


class MemorySearch:
    """Thread-safe if the embedder is."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        index: VectorIndex,
        settings: SearchSettings | None = None,
        clock: Callable[[], datetime] = utc_now,
        *,
        attention: AttentionIndex | None = None,
        uses_words: bool = True,
        candidates: int = CANDIDATES,
    ) -> None:
        if index.embedder != embedder.name:
            raise InputError(
                f"The index has vectors by {index.embedder}, but questions are embedded by {embedder.name}."
            )
        self._store = store
        self._embedder = embedder
        self._index = index
        self._attention = attention
        self._uses_words = uses_words
        self._settings = settings or SearchSettings()
        self._terms = TellingTerms(store)
        self._centre = Centre(store, embedder.name)
        self._wishes = WishList(store)
        self._ordinary = OrdinaryMessages(embedder)
        self._clock = clock
        self._depth = candidates

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
        """Return the best chunks for a text, best first; fewer than `limit` only if no more pass the filters.

        `mmr_lambda` from 0 to 1 trades closeness to the text (1) against difference from higher-ranked chunks (0).
        """
        if not text.strip():
            return []
        wanted = ChunkFilter(roles=roles, since=since, until=until, metadata=metadata)
        return self._search(
            text, lambda: self._embedder.embed([text])[0], lambda: self.look(text), wanted, limit, mmr_lambda
        )

    def get_ready(self) -> None:
        """Do now what the first message would otherwise wait for."""
        self._ordinary.embedded()

    def recollect(self, message: str, *, limit: int) -> Recollection:
        """Search with a message that may need nothing from the memory.

        Text that is itself ordinary, such as the greetings of earlier days, is left out.
        """
        if not message.strip():
            return Recollection([])
        vector = self._embedder.embed([message])[0]
        hits = self.search_embedded(message, vector, self.look(message), limit=limit)
        vectors = self._vectors([hit.id for hit in hits])
        matrix = np.stack([vector, *vectors.values()])
        likeness, *own = self._ordinary.likeness(matrix).tolist()
        ordinary = {chunk_id for chunk_id, one in zip(vectors, own, strict=True) if one >= ORDINARY_FROM}
        return Recollection([hit for hit in hits if hit.id not in ordinary], likeness)

    def look(self, text: str) -> Look | None:
        """Return what a text looks for; None without a reader."""
        return None if self._attention is None else self._attention.look(text)

    def search_embedded(
        self,
        text: str,
        vector: Vector,
        look: Look | None = None,
        wanted: ChunkFilter | None = None,
        *,
        limit: int = 50,
        mmr_lambda: float | None = None,
    ) -> list[Hit]:
        """Like `search`, for a text whose vector and look are already known."""
        return self._search(text, lambda: vector, lambda: look, wanted or ChunkFilter(), limit, mmr_lambda)

    def _search(
        self,
        text: str,
        embedded: Callable[[], Vector],
        looked: Callable[[], Look | None],
        wanted: ChunkFilter,
        limit: int,
        mmr_lambda: float | None,
    ) -> list[Hit]:
        if limit < 1:
            raise InputError(f"limit is {limit}, but must be at least 1.")
        if mmr_lambda is not None and not 0 <= mmr_lambda <= 1:
            raise InputError(f"mmr_lambda is {mmr_lambda}, but must be from 0 to 1.")
        question = SearchQuestion(text, self._clock().astimezone())
        candidates = Candidates(self._store, self._embedder.name, self._index, wanted)
        # Not in parallel: the embedder uses all processors, and sharing them would slow it down more than it gains.
        vector, look = embedded(), looked()
        turned = self._centre.removed_from(vector)
        depth = self._depth
        found = self._looked_for(question, turned, look, candidates, depth)
        if len(found.ids) < limit and max(len(found.similarities), len(found.word_scores)) >= depth:
            found = self._looked_for(question, turned, look, candidates, max(limit, depth))
        surroundings = self._surroundings(found, turned)
        ranked = fused(
            [
                candidates.candidate(
                    one,
                    question,
                    found.similarities.get(one),
                    found.word_scores.get(one),
                    is_wish=one in found.wishes,
                    attention=found.attention.get(one, math.nan),
                )
                for one in found.ids
            ],
            surroundings,
            user_boost=self._settings.user_boost,
            wish_boost=self._settings.wish_boost,
        )
        return self._hits(self._chosen(ranked, limit, mmr_lambda), vector, surroundings, found.terms)

    def _looked_for(
        self, question: SearchQuestion, vector: Vector, look: Look | None, candidates: Candidates, depth: int
    ) -> "_Found":
        """Return the best `depth` chunks by meaning, words, attention and times each, their neighbours, and the closest
        wishes."""
        # Sequential: threads would wait for each other longer than they gain.
        terms = self._terms.of(question.text) if self._uses_words else []
        reach = depth if look is None else max(depth, _NET)
        word_scores = candidates.by_words([term.text for term in terms], reach)
        similarities = candidates.nearest(vector, reach)
        attention = self._attention_to(look, [*dict.fromkeys([*similarities, *word_scores])])
        word_scores, similarities = _first(word_scores, depth), _first(similarities, depth)
        of_times = candidates.of_times(question, vector, depth)
        ids = candidates.with_neighbours({*similarities, *word_scores, *of_times, *_first(attention, depth)})
        wishes = frozenset(
            candidates.closest_of(self._wishes.ids(), vector, _CLOSEST_WISHES) if self._settings.wish_boost > 1 else ()
        )
        ids += wishes.difference(ids)
        attention |= self._attention_to(look, [one for one in ids if one not in attention])
        return _Found(ids, similarities, terms, word_scores, wishes, attention)

    def _attention_to(self, look: Look | None, ids: Sequence[int]) -> dict[int, float]:
        """Return the attention of those chunks that have been read, strongest first."""
        if look is None or self._attention is None:
            return {}
        values = dict(zip(ids, self._attention.attention(look, ids).tolist(), strict=True))
        known = [(one, value) for one, value in values.items() if not math.isnan(value)]
        return dict(sorted(known, key=lambda pair: (-pair[1], pair[0])))

    def _surroundings(self, found: "_Found", vector: Vector) -> Neighbourhood:
        ids, terms = np.array(sorted(found.ids), dtype=np.int64), found.terms
        wide, close = around(ids, WIDE), around(ids, CLOSE)
        places = self._store.word_places([term.text for term in terms], wide)
        similarities = np.full(len(wide), np.nan)
        similarities[np.searchsorted(wide, close)] = self._index.about_similarities(vector, close)
        return Neighbourhood(
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

    def _hits(
        self, ranked: Sequence[Ranked], vector: Vector, surroundings: Neighbourhood, terms: Sequence[Term]
    ) -> list[Hit]:
        chunks = dict(self._store.chunks_by_ids([one.candidate.id for one in ranked]))
        ids = np.array(sorted(chunks), dtype=np.int64)
        similarities = dict(pairs(ids, self._index.similarities(vector, ids)))
        weights = dict(pairs(ids, word_weights(ids, surroundings, np.array([term.weight for term in terms]))))
        return [
            Hit(
                id=one.candidate.id,
                chunk=chunks[one.candidate.id],
                score=one.score,
                similarity=None if math.isnan(similarities[one.candidate.id]) else similarities[one.candidate.id],
                vector_rank=one.vector_rank,
                word_rank=one.word_rank,
                word_score=one.candidate.word_score,
                word_weight=weights[one.candidate.id],
                is_wish=one.candidate.is_wish,
                is_of_named_time=one.candidate.nearness > 0,
                attention=None if math.isnan(one.candidate.attention) else one.candidate.attention,
                attention_rank=one.attention_rank,
            )
            for one in ranked
            if one.candidate.id in chunks and not chunks[one.candidate.id].deleted
        ]

    def _vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        found, vectors = self._store.vectors_by_ids(self._embedder.name, ids)
        return dict(zip(found.tolist(), vectors.astype(np.float32), strict=True))


class _Found(NamedTuple):
    """The candidates, their similarities, word scores and attention, and the terms of the question."""

    ids: list[int]
    similarities: dict[int, float]
    terms: list[Term]
    word_scores: dict[int, float]
    wishes: frozenset[int]
    attention: dict[int, float]


def with_words(hits: Iterable[Hit], text: str, attention: AttentionIndex) -> list[Hit]:
    """Return the hits of a text with the words of them that the reader looks at when it reads the text."""
    hits = list(hits)
    looked_at = attention.looked_at(text, {hit.id: hit.chunk.text for hit in hits})
    return [msgspec.structs.replace(hit, looked_at=looked_at.get(hit.id, ())) for hit in hits]


def _first(ranking: dict[int, float], count: int) -> dict[int, float]:
    return dict(islice(ranking.items(), count))
