"""How pages name the peers."""

from typing import NamedTuple


class PeerTitle(NamedTuple):
    name: str
    finds_by: str


TITLES = {
    "fts5": PeerTitle("FTS5", "words"),
    "bm25s": PeerTitle("bm25s", "words"),
    "tantivy": PeerTitle("tantivy", "words"),
    "lancedb": PeerTitle("LanceDB", "words and vectors, reciprocal ranks"),
    "halo-weave": PeerTitle("Halo Weave", "words, vectors and their surroundings"),
}
"""By the name of the peer."""
