"""Computes chunk vectors and keeps them up to date.

A chunk is embedded together with the anchors of its question and answer. When an anchor is added, changed or deleted,
the chunks embedded with it are embedded again: a deleted text must not be found through its neighbours.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.embedding.text import embedding_text, partner, to_embed_again
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey, Stored
from halo_weave.records.roles import Role

BATCH = 64
EmbeddingProgress = Callable[[int], None]
"""Receives the number of chunks embedded so far."""


class Indexer:
    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def embed(self, stored: Sequence[Stored]) -> int:
        """Embed chunks and return how many vectors were stored.

        A chunk that changes in the meantime is skipped; whoever changed it embeds it again.
        """
        as_of = self._store.change_number()
        fresh = self._store.chunks_by_ids([entry.id for entry in stored])
        count = 0
        for part in _parts([entry for entry in fresh if not entry.chunk.deleted], BATCH):
            vectors = self._embedder.embed([self._text(entry) for entry in part])
            kept = self._store.put_vectors(
                self._embedder.name,
                {entry.id: vector for entry, vector in zip(part, vectors, strict=True)},
                as_of=as_of,
            )
            count += len(kept)
        return count

    def embed_new(self, stored: Sequence[Stored]) -> int:
        """Embed chunks, and embed again the chunks whose text now includes one of them; counts only the former.

        The dependent chunks come first. After a crash, a new chunk without a vector then shows that both steps must be
        repeated.
        """
        around = embedded_with(self._store, {entry.chunk.key for entry in stored})
        ids, _ = self._store.vectors_by_ids(self._embedder.name, [entry.id for entry in around])
        embedded = set(ids.tolist())
        self.embed([entry for entry in around if entry.id in embedded])
        return self.embed(stored)

    def embed_missing(
        self, on_progress: EmbeddingProgress = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Embed all chunks without a vector by this embedder. Can be stopped; the next call continues from there."""
        done = after = 0
        while not is_stopped() and (ids := self._store.ids_without_vector(self._embedder.name, after, BATCH)):
            done += self.embed_new(self._store.chunks_by_ids(ids))
            after = ids[-1]
            on_progress(done)
        return done

    def embed_again_after(self, changed: Collection[ChunkKey]) -> int:
        """Embed again the chunks whose embedded text includes, or should include, one of these."""
        return self.embed(embedded_with(self._store, changed))

    def _text(self, entry: Stored) -> str:
        key = entry.chunk.key
        other = partner(key.turn, key.role)
        return embedding_text(
            entry.chunk.text,
            role=key.role,
            own_anchor=None if key.index == 0 else self._anchor(key.turn, key.role),
            other_anchor=None if other is None else self._anchor(*other),
            count_tokens=self._embedder.count_tokens,
            limit=self._embedder.max_tokens,
        )

    def _anchor(self, turn: int, role: Role) -> str | None:
        stored = self._store.chunk(ChunkKey(turn, 0, role)) if turn >= 0 else None
        return None if stored is None or stored.chunk.deleted else stored.chunk.text


def embedded_with(store: Store, keys: Collection[ChunkKey]) -> list[Stored]:
    """Return the other chunks whose embedded text includes one of these."""
    openings = [key for key in keys if key.index == 0]
    around = [entry for turn in sorted(_turns_around(openings)) for entry in store.chunks_of_turn(turn)]
    again = set(to_embed_again(keys, [entry.chunk.key for entry in around]))
    return [entry for entry in around if entry.chunk.key in again]


def _turns_around(keys: Collection[ChunkKey]) -> set[int]:
    partners = (partner(key.turn, key.role) for key in keys)
    return {key.turn for key in keys} | {other[0] for other in partners if other is not None and other[0] >= 0}


def _parts(entries: Sequence[Stored], size: int) -> Iterator[Sequence[Stored]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
