"""The memory tree over HTTP."""

from collections.abc import Callable

import msgspec

from halo_weave.records.numbers import text_of_number
from halo_weave.records.tree import SnapshotChunk
from halo_weave.server.api.tree_shapes import (
    Deleting,
    EntryQuery,
    EntryShape,
    HeadingQuery,
    NewContent,
    NodeShape,
    OutlineShape,
    Paths,
    Restoring,
    RootQuery,
    ScoredShape,
    SnapshotShape,
    TreeHistoryQuery,
    Undeleting,
    VersionShape,
)
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.server.http_errors import NotFound
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.window_state import Key
from halo_weave.tools.tree.tree import Entry, MemoryTree, Saved, TreeNode, UnknownPath

ORIGIN = "page"
"""The origin of the page's changes in an entry's history."""


def _on_tree(answer: Callable[[MemoryTree, Call], object]) -> Callable[[Call], object]:
    """Turn an unknown path into the server's own error, which has status 404."""

    def run(call: Call) -> object:
        try:
            return answer(call.program.tools.tree, call)
        except UnknownPath as error:
            raise NotFound(str(error)) from error

    return run


def _list(tree: MemoryTree, call: Call) -> NodeShape:
    return _node(tree.list(call.query.root))


def _entry(tree: MemoryTree, call: Call) -> EntryShape:
    query: EntryQuery = call.query
    entry = tree.entry(query.path) if query.version is None else tree.version(query.path, query.version)
    return _entry_shape(entry)


def _save(tree: MemoryTree, call: Call) -> Saved:
    body: NewContent = call.body
    return tree.save(
        body.path, body.content, body.context_tokens, origin=ORIGIN, expected_version=body.expected_version
    )


def _search(tree: MemoryTree, call: Call) -> list[ScoredShape]:
    query: HeadingQuery = call.query
    return [
        ScoredShape(
            path=one.path,
            version=one.version,
            created=one.created,
            modified=one.modified,
            content=one.content,
            score=one.score,
            similarity=one.similarity,
            recency=one.recency,
            chunks=[_chunk(near.chunk, near.similarity) for near in one.chunks],
        )
        for one in tree.query_heading(query.path, query.q, query.recency_bias)
    ]


def _history(tree: MemoryTree, call: Call) -> list[VersionShape]:
    query: TreeHistoryQuery = call.query
    return [VersionShape(**one._asdict()) for one in tree.history(query.path, query.before, query.limit)]


def _restore(tree: MemoryTree, call: Call) -> Saved:
    body: Restoring = call.body
    return tree.restore(body.path, body.version, origin=ORIGIN, expected_version=body.expected_version)


def _delete(tree: MemoryTree, call: Call) -> Paths:
    return Paths(tree.delete(call.body.path, call.body.recursive, origin=ORIGIN))


def _undelete(tree: MemoryTree, call: Call) -> Paths:
    return Paths(tree.undelete(call.body.paths, origin=ORIGIN))


def _node(node: TreeNode) -> NodeShape:
    outline = None
    if (entry := node.entry) is not None:
        outline = OutlineShape(
            entry.version, entry.created, entry.modified, entry.accessed, entry.beginning, entry.characters
        )
    return NodeShape(node.heading, node.path, outline, [_node(child) for child in node.children])


def _entry_shape(entry: Entry) -> EntryShape:
    return EntryShape(
        path=entry.path,
        version=entry.version,
        created=entry.created,
        modified=entry.modified,
        accessed=entry.accessed,
        content=entry.content,
        document=msgspec.json.format(msgspec.json.encode(entry.content)).decode(),
        snapshot=[_chunk(one, one.similarity) for one in entry.snapshot],
    )


def _chunk(one: SnapshotChunk, similarity: float) -> SnapshotShape:
    return SnapshotShape(
        key=Key(**key_to_json(one.key)),
        role=one.key.role,
        position=text_of_number(one.first_position),
        time=one.time,
        text=one.text,
        tokens=one.token_count,
        similarity=similarity,
    )


ENDPOINTS = [
    Endpoint("GET", "/api/tree", "List the headings of the memory tree.", _on_tree(_list), NodeShape, query=RootQuery),
    Endpoint(
        "GET",
        "/api/tree/entry",
        "Get an entry with its snapshot, in the newest or an earlier version.",
        _on_tree(_entry),
        EntryShape,
        query=EntryQuery,
    ),
    Endpoint("PUT", "/api/tree/entry", "Save JSON at a path.", _on_tree(_save), Saved, body=NewContent),
    Endpoint(
        "GET",
        "/api/tree/search",
        "List everything under a heading, best match first.",
        _on_tree(_search),
        list[ScoredShape],
        query=HeadingQuery,
    ),
    Endpoint(
        "GET",
        "/api/tree/history",
        "List the versions of an entry, newest first.",
        _on_tree(_history),
        list[VersionShape],
        query=TreeHistoryQuery,
    ),
    Endpoint("POST", "/api/tree/restore", "Restore an earlier version.", _on_tree(_restore), Saved, body=Restoring),
    Endpoint(
        "POST", "/api/tree/delete", "Delete an entry; its history is kept.", _on_tree(_delete), Paths, body=Deleting
    ),
    Endpoint("POST", "/api/tree/undelete", "Restore deleted entries.", _on_tree(_undelete), Paths, body=Undeleting),
]
