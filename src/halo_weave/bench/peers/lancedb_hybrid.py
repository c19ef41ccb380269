"""LanceDB's hybrid search: its word index for English and its vector search, joined by reciprocal ranks.

It compares all vectors: its documentation calls a vector index unnecessary for 100,000 rows or fewer.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Batch, Corpus, Peer

_TABLE = "chunks"


class LanceDb:
    def __init__(self, _: Corpus, folder: Path) -> None:
        os.environ.setdefault("LANCEDB_LOG", "error")  # it warns twice per question, and writing that takes time
        import lancedb
        from lancedb.rerankers import RRFReranker

        self._table = lancedb.connect(folder).open_table(_TABLE)
        self._reranker = RRFReranker()

    def search(self, text: str, vector: NDArray[np.float32], limit: int) -> list[int]:
        query = self._table.search(query_type="hybrid").vector(vector).text(text).distance_type("cosine")
        found = query.rerank(self._reranker).limit(limit).select(["id"]).to_arrow()
        ids: list[int] = found["id"].to_pylist()
        return ids[:limit]

    def close(self) -> None:
        pass


def _build(corpus: Corpus, folder: Path) -> None:
    import lancedb
    import pyarrow
    from lancedb.index import FTS

    schema = pyarrow.schema(
        [
            ("id", pyarrow.int64()),
            ("text", pyarrow.string()),
            ("vector", pyarrow.list_(pyarrow.float32(), corpus.dimensions)),
        ]
    )

    def record_batch(batch: Batch) -> object:
        vectors = pyarrow.FixedSizeListArray.from_arrays(batch.vectors.ravel(), corpus.dimensions)
        return pyarrow.RecordBatch.from_arrays(
            [pyarrow.array(batch.ids), pyarrow.array(batch.texts), vectors], schema=schema
        )

    def record_batches() -> Iterator[object]:
        return map(record_batch, corpus.batches())

    table = lancedb.connect(folder).create_table(_TABLE, data=record_batches(), schema=schema)
    table.create_index("text", config=FTS(language="English", stem=True, remove_stop_words=True))
    table.optimize()


LANCEDB = Peer("lancedb", ("lancedb",), _build, LanceDb)
