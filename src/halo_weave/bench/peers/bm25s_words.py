"""BM25 of bm25s, with stop words and the Snowball stemmer for English, as its documentation advises."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Corpus, Peer

_INDEX, _IDS = "bm25s", "ids.npy"
_STOP_WORDS = "en"


class Bm25s:
    def __init__(self, _: Corpus, folder: Path) -> None:
        import bm25s
        import Stemmer

        self._tokenize = bm25s.tokenize
        self._stemmer = Stemmer.Stemmer("english")
        self._index = bm25s.BM25.load(folder / _INDEX)
        self._ids: NDArray[np.int64] = np.load(folder / _IDS)

    def search(self, text: str, _: NDArray[np.float32], limit: int) -> list[int]:
        words = self._tokenize([text], stopwords=_STOP_WORDS, stemmer=self._stemmer, show_progress=False)
        rows, scores = self._index.retrieve(words, k=min(limit, len(self._ids)), show_progress=False)
        found: list[int] = self._ids[rows[0][scores[0] > 0]].tolist()
        return found

    def close(self) -> None:
        pass


def _build(corpus: Corpus, folder: Path) -> None:
    import bm25s
    import Stemmer

    ids: list[int] = []
    texts: list[str] = []
    for batch in corpus.batches():
        ids += batch.ids
        texts += batch.texts
    words = bm25s.tokenize(texts, stopwords=_STOP_WORDS, stemmer=Stemmer.Stemmer("english"), show_progress=False)
    index = bm25s.BM25()
    index.index(words, show_progress=False)
    index.save(folder / _INDEX)
    np.save(folder / _IDS, np.array(ids, dtype=np.int64))


BM25S = Peer("bm25s", ("bm25s", "Stemmer"), _build, Bm25s)
