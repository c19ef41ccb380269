"""The state of the memory for `halo-weave doctor`: its file, vectors and index."""

from collections.abc import Iterator
from contextlib import closing

import msgspec

from halo_weave.config import Settings
from halo_weave.errors import HaloError
from halo_weave.memory.memory import index_folder
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.approximate import open_index
from halo_weave.memory.vectors.index import EXACT_UP_TO_CHUNKS, vector_file_name
from halo_weave.terminal.chunk_lines import counted


class MemoryFinding(msgspec.Struct, frozen=True):
    """`embedder` is the one whose vectors search uses."""

    path: str
    exists: bool = False
    chunks: int = 0
    bytes: int = 0
    embedder: str = ""
    vectors: int = 0
    chunks_without_vector: int = 0
    index: str = ""
    problem: str = ""


def examine_memory(settings: Settings) -> MemoryFinding:
    """Examine the memory without creating a missing one."""
    path = settings.memory.file
    finding = MemoryFinding(str(path), path.exists())
    if not finding.exists:
        return finding
    try:
        with closing(SqliteStore(path)) as store:
            if findings := store.check():
                return msgspec.structs.replace(finding, problem=" ".join(findings))
            stats = store.stats()
            embedder = store.serving_embedder() or ""
            vectors = stats.vectors.get(embedder, 0)
            return msgspec.structs.replace(
                finding,
                chunks=stats.chunks,
                bytes=stats.bytes,
                embedder=embedder,
                vectors=vectors,
                chunks_without_vector=stats.chunks - stats.deleted_chunks - vectors,
                index=_index_in_words(settings, store, embedder, vectors),
            )
    except HaloError as error:
        return msgspec.structs.replace(finding, problem=str(error))


def memory_in_words(memory: MemoryFinding) -> Iterator[str]:
    if not memory.exists:
        yield f"Memory: {memory.path} (does not exist yet)"
    elif memory.problem:
        yield f"Memory: {memory.path}, {memory.problem}"
        yield "What to do: run `halo-weave memory verify` for details, or restore a backup."
    else:
        yield f"Memory: {memory.path}, OK, {counted(memory.chunks, 'chunk')}, {memory.bytes / 1e6:,.1f} MB"
        yield f"Vectors: {_vectors_in_words(memory)}"
        yield f"Vector index: {memory.index}"


def _vectors_in_words(memory: MemoryFinding) -> str:
    words = f"{memory.vectors:,} by {memory.embedder}" if memory.embedder else "none yet"
    if memory.chunks_without_vector:
        words += (
            f"; {counted(memory.chunks_without_vector, 'chunk')} without a vector (run `halo-weave memory reembed`)"
        )
    return words


def _index_in_words(settings: Settings, store: Store, embedder: str, vectors: int) -> str:
    file = index_folder(settings.memory.file) / vector_file_name(embedder)
    if vectors <= EXACT_UP_TO_CHUNKS and not file.exists():
        return f"not needed for {counted(vectors, 'vector')}"
    if not file.exists():
        return "missing, will be built by the next search"
    dimensions = store.vectors_since(embedder, 0, 1).vectors.shape[1]
    if open_index(file, embedder, dimensions) is None:
        return f"{file}, damaged or outdated, will be rebuilt by the next search"
    return f"{file}, OK, {file.stat().st_size / 1e6:,.1f} MB"
