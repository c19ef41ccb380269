"""Text for benchmarks: the prose of Python's own reference, which every installation has."""

import random
from collections.abc import Iterator
from pydoc_data.topics import topics

from halo_weave.engine import Engine, Placed

_FEWEST_LETTERS = 200


def paragraphs() -> list[str]:
    """Return all longer paragraphs, in order."""
    return [part for text in topics.values() for part in text.split("\n\n") if len(part) > _FEWEST_LETTERS]


class TokenStream:
    """An endless stream of tokens of real prose, in order of position and the same on every run."""

    def __init__(self, engine: Engine, seed: int = 1) -> None:
        self._engine = engine
        self._ids = self._token_ids(seed)
        self._position = 0

    def take(self, count: int) -> list[Placed]:
        first = self._position
        self._position += count
        return [Placed(first + offset, next(self._ids)) for offset in range(count)]

    def _token_ids(self, seed: int) -> Iterator[int]:
        chosen = paragraphs()
        chance = random.Random(seed)
        while True:
            for token in self._engine.tokenize(chance.choice(chosen) + "\n\n"):
                yield token.id
