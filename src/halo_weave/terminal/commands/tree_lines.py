"""Formats memory-tree entries as lines for people and as JSON for programs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from halo_weave.records.tree import SnapshotChunk, VersionOutline
from halo_weave.terminal.chunk_lines import (
    chunk_for_programs,
    counted,
    first_words,
    key_for_programs,
    local_time,
)
from halo_weave.tools.tree.tree import Entry, ScoredEntry, TreeNode

_CHUNK_FACTS = ("position", "tokens", "time", "text")


def node_for_programs(node: TreeNode) -> dict[str, Any]:
    entry = node.entry
    return {
        "heading": node.heading,
        "path": node.path,
        "entry": None if entry is None else entry._asdict(),
        "children": [node_for_programs(child) for child in node.children],
    }


def node_in_words(node: TreeNode, indent: str = "") -> Iterator[str]:
    for child in node.children:
        yield indent + _heading_in_words(child)
        yield from node_in_words(child, indent + "  ")


def entry_for_programs(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "version": entry.version,
        "created": entry.created,
        "modified": entry.modified,
        "accessed": entry.accessed,
        "content": entry.content,
        "snapshot": [chunk_of_snapshot_for_programs(one) for one in entry.snapshot],
    }


def entry_in_words(entry: Entry) -> Iterator[str]:
    facts = [entry.path, f"version {entry.version}", f"saved {local_time(entry.modified)}"]
    if entry.created != entry.modified:
        facts.append(f"first {local_time(entry.created)}")
    yield " · ".join(facts)
    yield msgspec.json.format(msgspec.json.encode(entry.content)).decode()
    for one in entry.snapshot:
        yield ""
        yield f"{one.key} · {local_time(one.time)} · similarity {one.similarity:.2f}"
        yield from one.text.splitlines()


def chunk_of_snapshot_for_programs(one: SnapshotChunk) -> dict[str, Any]:
    described = chunk_for_programs(one.chunk)
    facts = {name: described[name] for name in _CHUNK_FACTS}
    return key_for_programs(one.key) | facts | {"similarity": one.similarity, "embedder": one.embedder}


def scored_for_programs(one: ScoredEntry) -> dict[str, Any]:
    return {
        "path": one.path,
        "version": one.version,
        "created": one.created,
        "modified": one.modified,
        "score": one.score,
        "similarity": one.similarity,
        "recency": one.recency,
        "content": one.content,
        "chunks": [chunk_of_snapshot_for_programs(near.chunk) | {"similarity": near.similarity} for near in one.chunks],
    }


def scored_in_words(place: int, one: ScoredEntry) -> Iterator[str]:
    similarity = "" if one.similarity is None else f" · similarity {one.similarity:.2f}"
    yield f"{place:>3}  {one.path} · {local_time(one.modified)} · score {one.score:.3f}{similarity}"
    yield f"     {first_words(msgspec.json.encode(one.content).decode(), 100)}"


def version_in_words(one: VersionOutline) -> str:
    what = "deleted" if one.is_deletion else f"{counted(one.characters, 'character')}, {counted(one.chunks, 'chunk')}"
    return f"{one.version:>5}  {local_time(one.time)} · {what} · by {one.origin}"


def _heading_in_words(node: TreeNode) -> str:
    name = f"{node.heading}/" if node.children else node.heading
    if node.entry is None:
        return name
    return f"{name}  (version {node.entry.version}) {first_words(node.entry.beginning)}"
