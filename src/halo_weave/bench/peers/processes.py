"""Runs a peer's tasks, each in a process of its own, so that neither its memory nor its failure is another's."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from halo_weave.bench.peers.peer import Corpus
from halo_weave.bench.peers.probe import Measured, PeerTask
from halo_weave.bench.peers.word_indexes import WordTimes
from halo_weave.errors import InputError
from halo_weave.memory.sqlite.words import index_path
from halo_weave.memory.vectors.unit import Vectors


class Questions(NamedTuple):
    """Questions to a corpus; `vectors` has a row for each of `texts`."""

    corpus: Corpus
    texts: list[str]
    vectors: Vectors


def measure(peer: str, questions: Questions, folder: Path, limit: int) -> Measured:
    """Build the peer's index in the empty folder, and ask all questions."""
    index, texts, vectors = folder / "index", folder / "questions.json", folder / "questions.npy"
    index.mkdir()
    texts.write_bytes(msgspec.json.encode(questions.texts))
    np.save(vectors, questions.vectors)
    _run(PeerTask("build", peer, questions.corpus, str(index)))
    return _run(PeerTask("search", peer, questions.corpus, str(index), str(texts), str(vectors), limit))


def measure_word_index(peer: str, questions: Questions, folder: Path, last_id: int) -> WordTimes:
    """Measure the word index of a copy of the corpus, because new chunks are written to it."""
    index, texts, copy = folder / "index", folder / "questions.json", folder / "memory"
    index.mkdir()
    texts.write_bytes(msgspec.json.encode(questions.texts))
    database = Path(questions.corpus.database)
    copy.mkdir()
    for file in (database, index_path(database)):
        if file.exists():
            shutil.copyfile(file, copy / file.name)
    corpus = msgspec.structs.replace(questions.corpus, database=str(copy / database.name))
    return _run(PeerTask("words", peer, corpus, str(index), str(texts), limit=last_id)).words


def _run(task: PeerTask) -> Measured:
    done = subprocess.run(
        [sys.executable, "-m", "halo_weave.bench.peers.probe"],
        input=msgspec.json.encode(task),
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise InputError(f"The process of {task.peer} failed at the step {task.do!r}; see its output above.")
    return msgspec.json.decode(done.stdout, type=Measured)
