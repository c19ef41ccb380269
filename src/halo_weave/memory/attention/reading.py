"""Keeps the reader's keys in step with the chunks.

A chunk is read with the text before it, so its keys depend on that text. New text changes nothing, because the reader
only looks back. When a text is deleted, the store removes the keys of the chunks that may have been read with it, and
they are read again: nothing of it may stay in their keys.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from halo_weave.engine.reader.protocol import CONTEXT_TOKENS, Reader
from halo_weave.memory.store.keys import READ_REACH
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Stored

AT_ONCE = 16
"""Chunks that are read before their keys are stored. A killed process loses no more work than that."""
_MOST_CHUNKS_BEFORE = READ_REACH - AT_ONCE + 1
"""The last chunk of a run is read with the others of the run and with the chunks before the run."""
_CHARACTERS_PER_TOKEN = 8
"""An upper bound for most texts; a longer context would only be cut off."""
_ATTEMPTS = 3


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
        """Read a run of chunks; again if one of the texts has changed in the meantime."""
        for _ in range(_ATTEMPTS):
            as_of = self._store.change_number()
            stored = self._present(ids)
            if not stored:
                return 0
            before = self._present(range(max(1, stored[0].id - _MOST_CHUNKS_BEFORE), stored[0].id))
            text_before = "\n".join(entry.chunk.text for entry in before)[-CONTEXT_TOKENS * _CHARACTERS_PER_TOKEN :]
            keys = self._reader.read([entry.chunk.text for entry in stored], text_before)
            found = {entry.id: own for entry, own in zip(stored, keys, strict=True)}
            read = [entry.id for entry in (*before, *stored)]
            if kept := self._store.put_keys(self._reader.name, found, as_of=as_of, read=read):
                return len(kept)
        return 0

    def _present(self, ids: Sequence[int]) -> list[Stored]:
        return [entry for entry in self._store.chunks_by_ids(ids) if not entry.chunk.deleted]


def read_with(ids: Iterable[int]) -> list[int]:
    """Return the ids that other chunks have if they can have been read with one of these before them."""
    own = set(ids)
    return sorted({later for chunk_id in own for later in range(chunk_id + 1, chunk_id + 1 + READ_REACH)} - own)


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
