"""The process of one peer: it builds the peer's index, answers all questions with it, or measures its word index.

It reads a task as JSON from standard input and writes what it measured to standard output.
"""

import sys
import time
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from halo_weave.bench.peers.peer import Corpus
from halo_weave.bench.peers.registry import PEERS
from halo_weave.bench.peers.word_indexes import WORD_INDEXES, WordTimes, measure_words
from halo_weave.bench.resident_memory import peak_resident_mb, resident_mb

_WARM_UP = 25


class PeerTask(msgspec.Struct, frozen=True):
    """`questions` is a JSON file with a list of texts, `vectors` a NumPy file with a row for each.

    `limit` is the number of chunks to find for a question or, for the word index, the highest id of a chunk.
    """

    do: Literal["build", "search", "words"]
    peer: str
    corpus: Corpus
    folder: str
    questions: str = ""
    vectors: str = ""
    limit: int = 0


class Measured(msgspec.Struct, frozen=True):
    """The chunks found and the milliseconds taken for each question; `rss_mb` is how far the resident memory grew."""

    found: list[list[int]] = []
    search_ms: list[float] = []
    rss_mb: float = 0.0
    words: WordTimes = WordTimes()


def run(task: PeerTask) -> Measured:
    match task.do:
        case "build":
            PEERS[task.peer].build(task.corpus, Path(task.folder))
            return Measured()
        case "search":
            return _search(task)
        case "words":
            return _words(task)


def _search(task: PeerTask) -> Measured:
    peer, folder, questions = PEERS[task.peer], Path(task.folder), _questions(task)
    vectors = np.load(task.vectors)
    before = resident_mb()
    opened = peer.open(task.corpus, folder)
    for text, vector in zip(questions[:_WARM_UP], vectors, strict=False):
        opened.search(text, vector, task.limit)
    found, search_ms = [], []
    for text, vector in zip(questions, vectors, strict=True):
        started = time.perf_counter()
        found.append(opened.search(text, vector, task.limit))
        search_ms.append((time.perf_counter() - started) * 1000)
    grown = peak_resident_mb() - before
    opened.close()
    return Measured(found, search_ms, grown)


def _words(task: PeerTask) -> Measured:
    index = WORD_INDEXES[task.peer](task.corpus, Path(task.folder))
    try:
        return Measured(words=measure_words(index, _questions(task), task.limit))
    finally:
        index.close()


def _questions(task: PeerTask) -> list[str]:
    return msgspec.json.decode(Path(task.questions).read_bytes(), type=list[str])


def main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=PeerTask)
    answer = msgspec.json.encode(run(task))
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()
