"""Questions take precedence over chunks that are embedded in the background."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from halo_weave.memory.embedding.shared import SharedEmbedder
from halo_weave.memory.vectors.unit import Vectors

PATIENCE_S = 60.0


class SlowEmbedder:
    """Handles one call at a time, like an in-process model; records the calls, and each waits until it is released."""

    name, dimensions, max_tokens = "slow", 2, 256

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.may_go = threading.Semaphore(0)
        self.has_begun = threading.Semaphore(0)
        self._alone = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._alone:
            self.calls.append(list(texts))
            self.has_begun.release()
            assert self.may_go.acquire(timeout=PATIENCE_S)
            return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        pass


def begun(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_question_waits_for_the_small_part_under_way_and_not_for_the_whole_batch() -> None:
    slow = SlowEmbedder()
    shared = SharedEmbedder(slow)
    chunks = [f"chunk {number}" for number in range(64)]
    background = begun(lambda: shared.in_background.embed(chunks))
    assert slow.has_begun.acquire(timeout=PATIENCE_S)
    question = begun(lambda: shared.embed(["question"]))
    while not shared.has_question:
        pass
    for _ in range(100):
        slow.may_go.release()
    for thread in (question, background):
        thread.join(PATIENCE_S)
    assert slow.calls[1] == ["question"]
    assert [text for call in slow.calls if call != ["question"] for text in call] == chunks


def test_parts_are_bounded_by_their_tokens_and_give_each_text_its_vector_in_order() -> None:
    slow = SlowEmbedder()
    shared = SharedEmbedder(slow)
    texts = ["word " * count for count in (3, 200, 250, 900, 100, 1)]
    for _ in range(100):
        slow.may_go.release()
    vectors = shared.in_background.embed(texts)
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert [len(call) for call in slow.calls] == [2, 1, 1, 2]
    assert shared.in_background.embed([]).shape == (0, 2)
