"""Made-up texts whose words are as common, as rare and as repetitive as those of real ones.

The words come from the embedding model's vocabulary, which lists them from common to rare. Compounds of two words
follow, because a lifetime has more words than a vocabulary. Word frequencies follow the Zipf–Mandelbrot law. Each
conversation repeats some words of its own, as real ones do.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.vocabulary import ModelVocabulary
from halo_weave.records.tokens import Token

_DIFFERENT_WORDS = 120_000
_ZIPF_EXPONENT, _ZIPF_SHIFT = 1.07, 2.7
_FIRST_WORD = "the"
_TOPIC_WORDS, _TOPIC_SHARE, _COMMON_RANKS = 40, 0.2, 300
_WORDS_OF_SENTENCE = 14


class MadeUpWords:
    """Each word is tokenized at most once, with its preceding space: a million texts would take hours otherwise."""

    def __init__(self, words: Sequence[str], vocabulary: ModelVocabulary) -> None:
        self._words = words
        self._vocabulary = vocabulary
        self._tokens: dict[int, list[Token]] = {}
        self._full_stop = vocabulary.tokenize(".")
        shares = 1 / (np.arange(1, len(words) + 1) + _ZIPF_SHIFT) ** _ZIPF_EXPONENT
        self._up_to = np.cumsum(shares / shares.sum())

    def topic(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return the words that a conversation keeps using, without the most common ones."""
        ranks = np.exp(random.uniform(np.log(_COMMON_RANKS), np.log(len(self._words)), _TOPIC_WORDS))
        return np.minimum(ranks.astype(np.int64), len(self._words) - 1)

    def tokens(self, words: int, topic: NDArray[np.int64], random: np.random.Generator) -> list[Token]:
        chosen = np.minimum(np.searchsorted(self._up_to, random.random(words)), len(self._words) - 1)
        own = random.random(words) < _TOPIC_SHARE
        chosen[own] = random.choice(topic, int(own.sum()))
        tokens: list[Token] = []
        for place, word in enumerate(chosen.tolist(), start=1):
            tokens += self._tokens.get(word) or self._tokenized(word)
            if place % _WORDS_OF_SENTENCE == 0:
                tokens += self._full_stop
        return tokens

    def _tokenized(self, word: int) -> list[Token]:
        tokens = self._tokens[word] = self._vocabulary.tokenize(f" {self._words[word]}")
        return tokens


def words_by_frequency(vocabulary_file: Path, count: int = _DIFFERENT_WORDS) -> list[str]:
    listed = vocabulary_file.read_text(encoding="utf-8").splitlines()
    words = [word for word in listed[listed.index(_FIRST_WORD) :] if word.isalpha() and word.isascii()]
    random = np.random.default_rng(7)
    pairs = random.integers(len(words), size=(max(0, 2 * (count - len(words))), 2)).tolist()
    compounds = (f"{words[first]}{words[second]}" for first, second in pairs)
    return list(dict.fromkeys((*words, *compounds)))[:count]
