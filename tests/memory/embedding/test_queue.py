"""Background embedding continues whatever happens, and catches up on failures."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halo_weave.errors import EmbedderError, HaloError
from halo_weave.memory.embedding.queue import EmbeddingQueue
from halo_weave.system.background import failures

PATIENCE_S = 60.0
LONG_S = 3600.0


class Embedding:
    """Fails with `error` while it is set, and always for the chunks in `poison`."""

    def __init__(self, error: Exception | None = None, poison: frozenset[int] = frozenset()) -> None:
        self.error = error
        self.poison = poison
        self.done: list[int] = []
        self.has_done = threading.Event()

    def __call__(self, ids: list[int]) -> None:
        if self.error is not None:
            raise self.error
        if self.poison.intersection(ids):
            raise EmbedderError("this text cannot be embedded")
        self.done += ids
        self.has_done.set()


@contextmanager
def queue_of(work: Embedding, told: list[HaloError], pause_s: float = LONG_S) -> Iterator[EmbeddingQueue]:
    queue = EmbeddingQueue(work, told.append, first_pause_s=pause_s)
    try:
        yield queue
    finally:
        queue.close()


def test_an_unexpected_failure_is_reported_and_later_chunks_are_embedded_all_the_same() -> None:
    work, told, before = Embedding(TypeError("unexpected")), list[HaloError](), failures().get("embedding", 0)
    with queue_of(work, told) as queue:
        queue.add([1])
        (error,) = queue.settle()
        assert "TypeError: unexpected" in str(error)
        assert told == [error]
        assert failures()["embedding"] == before + 1
        work.error = None
        queue.add([2])
        assert queue.settle() == []
        assert sorted(work.done) == [1, 2]


@pytest.mark.parametrize("count", [1, 200])
def test_what_failed_is_embedded_as_soon_as_the_embedder_works_again(count: int) -> None:
    work, told = Embedding(EmbedderError("away")), list[HaloError]()
    with queue_of(work, told) as queue:
        queue.add(range(count))
        assert list(map(str, queue.settle())) == ["away"]
        assert list(map(str, told)) == ["away"]
        work.error = None
        queue.add([count])
        assert queue.settle() == []
        assert sorted(work.done) == list(range(count + 1))


def test_what_failed_is_tried_again_after_a_while_though_nothing_new_comes() -> None:
    work, told = Embedding(EmbedderError("away")), list[HaloError]()
    with queue_of(work, told, pause_s=0.001) as queue:
        queue.add([1])
        queue.settle()
        work.error = None
        assert work.has_done.wait(PATIENCE_S)
    assert work.done == [1]


def test_a_chunk_that_always_fails_takes_no_other_one_with_it() -> None:
    work, told, others = Embedding(poison=frozenset([5])), list[HaloError](), set(range(20)) - {5}
    with queue_of(work, told, pause_s=0.001) as queue:
        queue.add(range(20))
        deadline = time.monotonic() + PATIENCE_S
        while set(work.done) != others:
            assert time.monotonic() < deadline
            time.sleep(0.005)
