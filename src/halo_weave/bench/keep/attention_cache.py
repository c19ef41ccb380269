"""A cache of the attention with which a model wrote its turns of a conversation, recorded once.

Reading in batches gives the same attention as writing token by token, and is far quicker. Rows are stored as float16,
and only for the tokens from which the assistant's tokens were chosen. A row has an entry for each token up to and
including its own.
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.keep.feeding import FedConversation
from halo_weave.bench.progress import Progress
from halo_weave.engine.protocol import Attention, Engine, Placed
from halo_weave.errors import EngineError

_READ_AT_ONCE = 512
_FORMAT = b"1"


class Recording:
    """Attention rows in order of `observers`, the places of the tokens that looked."""

    def __init__(self, observers: NDArray[np.int32], entries: NDArray[np.float16]) -> None:
        self.observers = observers
        self.entries = entries

    def __iter__(self) -> Iterator[tuple[int, Attention]]:
        start = 0
        for observer in map(int, self.observers):
            row = self.entries[start : start + observer + 1].astype(np.float32)
            start += observer + 1
            yield observer, row


class AttentionCache:
    """Recordings on disk, keyed by model and tokens only, so that other settings can change without a new recording."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self._folder = folder
        self._engine = engine
        facts = engine.facts
        self._model = f"{facts.name} {facts.layers} {facts.heads} {facts.embedding_size} {facts.vocabulary_size}"

    def recording(self, fed: FedConversation, on_progress: Progress) -> Recording:
        path = self._folder / f"{self._key(fed)}.npz"
        try:
            with path.open("rb") as file, np.load(file) as kept:
                return Recording(kept["observers"], kept["entries"])
        except (OSError, EOFError, ValueError, KeyError, BadZipFile):
            pass  # missing or damaged
        made = record(self._engine, fed, on_progress)
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez(unfinished, observers=made.observers, entries=made.entries)
        unfinished.replace(path)
        return made

    def _key(self, fed: FedConversation) -> str:
        content = (
            _FORMAT,
            self._model.encode(),
            np.array(fed.token_ids, dtype="<i4").tobytes(),
            observers_of(fed).tobytes(),
        )
        return hashlib.sha256(b"\0".join(content)).hexdigest()[:32]


def observers_of(fed: FedConversation) -> NDArray[np.int32]:
    """Return the places of the tokens from which the assistant's tokens and the ends of its turns were chosen."""
    places = [place for turn in fed.turns if turn.role == "assistant" for place in range(turn.start - 1, turn.end)]
    return np.array(places, dtype="<i4")


def record(engine: Engine, fed: FedConversation, on_progress: Progress = lambda _: None) -> Recording:
    observers = observers_of(fed)
    wanted = np.zeros(len(fed.token_ids), dtype=bool)
    wanted[observers] = True
    rows: list[NDArray[np.float16]] = []
    placed = [Placed(place, token_id) for place, token_id in enumerate(fed.token_ids)]
    with closing(engine.open_context()) as context:
        for start in range(0, len(placed), _READ_AT_ONCE):
            part = placed[: start + _READ_AT_ONCE]
            report = context.sync(part, observe=True)
            if report.read is None or report.reading is None:
                raise EngineError(f"The model {engine.facts.name} does not report its attention.")
            for place, row in zip(map(int, report.read), report.reading, strict=True):
                if wanted[place]:
                    rows.append(row[: place + 1].astype(np.float16))
            on_progress(f"{fed.name}: read {len(part)} of {len(placed)} tokens")
    return Recording(observers, np.concatenate(rows) if rows else np.empty(0, dtype=np.float16))
