"""All peers by name, in the order of the table."""

from importlib.util import find_spec

from halo_weave.bench.peers.bm25s_words import BM25S
from halo_weave.bench.peers.fts5 import FTS5
from halo_weave.bench.peers.lancedb_hybrid import LANCEDB
from halo_weave.bench.peers.ours import OURS
from halo_weave.bench.peers.peer import Peer
from halo_weave.bench.peers.tantivy_words import TANTIVY

PEERS: dict[str, Peer] = {peer.name: peer for peer in (FTS5, BM25S, TANTIVY, LANCEDB, *OURS)}


def is_installed(peer: Peer) -> bool:
    return all(find_spec(package) is not None for package in peer.packages)
