"""Keeps the reader's keys in step with the chunks.

A chunk is read with the text before it, so its keys depend on that text. New text changes nothing, because the reader
only looks back. When a text is deleted, the chunks after it are read again: nothing of it may stay in their keys.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from halo_weave.engine.reader.protocol import CONTEXT_TOKENS, Reader
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Stored

AT_ONCE = 16
"""Chunks that are read before their keys are stored. A killed process loses no more work than that."""
_MOST_CHUNKS_AROUND = 32
_CHARACTERS_PER_TOKEN = 8
"""An upper bound for most texts; a longer context would only be cut off."""


class KeyIndexer:
    def __init__(self, store: Store, reader: Reader) -> None:
        self._store = store
        self._reader = reader

    def read(self, ids: Iterable[int]) -> int:
        """Read chunks and return how many got keys. A chunk that changes in the meantime is skipped."""
        return sum(self._read(run) for run in _runs(sorted(set(ids))))

    def read_missing(
        self, on_progress: Callable[[int], None] = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Read all chunks without this reader's keys. Can be stopped; the next call continues from there."""
        done = after = 0
        while not is_stopped() and (ids := self._store.ids_without_keys(self._reader.name, after, AT_ONCE)):
            done += self.read(ids)
            after = ids[-1]
            on_progress(done)
        return done

    def _read(self, ids: Sequence[int]) -> int:
        as_of = self._store.change_number()
        stored = [entry for entry in self._store.chunks_by_ids(ids) if not entry.chunk.deleted]
        if not stored:
            return 0
        keys = self._reader.read([entry.chunk.text for entry in stored], self._before(stored[0].id))
        found = {entry.id: own for entry, own in zip(stored, keys, strict=True)}
        return len(self._store.put_keys(self._reader.name, found, as_of=as_of))

    def _before(self, chunk_id: int) -> str:
        earlier = range(max(1, chunk_id - _MOST_CHUNKS_AROUND), chunk_id)
        texts = [entry.chunk.text for entry in self._store.chunks_by_ids(earlier) if not entry.chunk.deleted]
        return "\n".join(texts)[-CONTEXT_TOKENS * _CHARACTERS_PER_TOKEN :]


def read_with(store: Store, ids: Iterable[int]) -> list[int]:
    """Return the ids of other chunks that were read with one of these before them."""
    own = set(ids)
    found: set[int] = set()
    for chunk_id in own:
        tokens = 0
        for entry in store.chunks_by_ids(range(chunk_id + 1, chunk_id + 1 + _MOST_CHUNKS_AROUND)):
            found.add(entry.id)
            tokens += _fewest_tokens(entry)
            if tokens >= CONTEXT_TOKENS:
                break
    return sorted(found - own)


def _fewest_tokens(entry: Stored) -> int:
    """A lower bound of the reader's own count of tokens, which may differ from the chat model's."""
    return 0 if entry.chunk.deleted else len(entry.chunk.text) // _CHARACTERS_PER_TOKEN


def _runs(ids: Sequence[int]) -> Iterator[list[int]]:
    """Split ascending ids into runs without gaps, each at most `AT_ONCE` long."""
    run: list[int] = []
    for chunk_id in ids:
        if run and (chunk_id != run[-1] + 1 or len(run) == AT_ONCE):
            yield run
            run = []
        run.append(chunk_id)
    if run:
        yield run
