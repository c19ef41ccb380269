"""BM25 of tantivy, with its English stemmer."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Corpus, Peer

_ID, _TEXT = "id", "text"


class Tantivy:
    def __init__(self, _: Corpus, folder: Path) -> None:
        import tantivy

        self._index = tantivy.Index.open(str(folder))
        self._searcher = self._index.searcher()

    def search(self, text: str, _: NDArray[np.float32], limit: int) -> list[int]:
        # In lower case, because AND, OR and NOT are operators.
        query = self._index.parse_query(" ".join(re.findall(r"\w+", text.lower())), [_TEXT])
        hits = self._searcher.search(query, limit, count=False).hits
        found: list[int] = [self._searcher.doc(address)[_ID][0] for _, address in hits]
        return found

    def close(self) -> None:
        pass


def _build(corpus: Corpus, folder: Path) -> None:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_integer_field(_ID, stored=True)
    schema.add_text_field(_TEXT, tokenizer_name="en_stem")
    index = tantivy.Index(schema.build(), str(folder))
    writer = index.writer()
    for batch in corpus.batches():
        for chunk_id, text in zip(batch.ids, batch.texts, strict=True):
            writer.add_document(tantivy.Document(**{_ID: chunk_id, _TEXT: text}))
    writer.commit()
    writer.wait_merging_threads()


TANTIVY = Peer("tantivy", ("tantivy",), _build, Tantivy)
