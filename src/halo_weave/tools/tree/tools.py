"""The tools of the memory tree."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from halo_weave.tools.times import shown_time
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, as_json, succeeded
from halo_weave.tools.tree.tree import (
    CONTEXT_TOKENS,
    MOST_CONTEXT_TOKENS,
    RECENCY_BIAS,
    Entry,
    MemoryTree,
    ScoredEntry,
    TreeNode,
)

SAVE_DESCRIPTION = (
    "Save something worth keeping at a path such as Project/Goals/Phase1. The content is any JSON. The conversation "
    "about it is saved along with it, so that you can recall the reasons later. An existing entry is replaced; earlier "
    "versions are kept."
)
QUERY_DESCRIPTION = "Read the entry at a path, with the conversation it came from. Use list_memory to see the paths."
HEADING_DESCRIPTION = (
    "List everything saved under a heading: newest first, or best match first if there is a query. recency_bias from 0 "
    "to 1 sets how strongly newer entries are preferred."
)
LIST_DESCRIPTION = "List the paths of all saved entries as a tree, or only those under one heading."
DELETE_DESCRIPTION = (
    "Delete the entry at a path, and with recursive everything under it. Earlier versions are kept, and the user can "
    "restore them."
)

Path = Annotated[str, msgspec.Meta(max_length=2000, description="Headings separated by slashes, such as User/Work.")]


class SaveMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Path
    content: Annotated[Any, msgspec.Meta(description="What to save: a string, an object, a list, any JSON.")]
    context_tokens: Annotated[
        int,
        msgspec.Meta(ge=0, le=MOST_CONTEXT_TOKENS, description="Tokens of the conversation to save along with it."),
    ] = CONTEXT_TOKENS
    expected_version: Annotated[
        int | None,
        msgspec.Meta(description="Save only if the entry is at this version; 0 if there must be no entry yet."),
    ] = None


class QueryMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Path


class QueryHeading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Path
    query: Annotated[str, msgspec.Meta(max_length=10_000, description="Text to search for.")] | None = None
    recency_bias: Annotated[
        float, msgspec.Meta(ge=0, le=1, description="How strongly newer entries are preferred.")
    ] = RECENCY_BIAS


class ListMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    root: Annotated[str, msgspec.Meta(max_length=2000, description="A heading; empty for the whole tree.")] = ""


class DeleteMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Path
    recursive: Annotated[bool, msgspec.Meta(description="Also delete everything under the path.")] = False


def tree_tools(tree: MemoryTree) -> tuple[Tool[Any], ...]:
    def save(arguments: SaveMemory, asker: Asker) -> ToolOutcome:
        saved = tree.save(
            arguments.path,
            arguments.content,
            arguments.context_tokens,
            origin=asker.origin,
            expected_version=arguments.expected_version,
            without_turn=asker.answer_turn,
        )
        line = f"saved {saved.path} (version {saved.version}, {_counted(saved.chunks)} of context)"
        return succeeded(line, msgspec.to_builtins(saved))

    def query(arguments: QueryMemory, _: Asker) -> ToolOutcome:
        return found(tree.query(arguments.path))

    def query_quietly(arguments: QueryMemory, _: Asker) -> ToolOutcome:
        return found(tree.entry(arguments.path))

    def found(entry: Entry) -> ToolOutcome:
        line = f"{entry.path} = {as_json(entry.content)} (saved {shown_time(entry.modified)})"
        return succeeded(line, _whole(entry), entry.snapshot, f"memory tree {entry.path}")

    def query_heading(arguments: QueryHeading, _: Asker) -> ToolOutcome:
        found = tree.query_heading(arguments.path, arguments.query, arguments.recency_bias)
        told = (
            f"{one.path}{'' if arguments.query is None else f' ({one.score:.2f})'} = {as_json(one.content)}"
            for one in found
        )
        return succeeded("; ".join(told) or "nothing", {"entries": [_scored(one) for one in found]})

    def list_memory(arguments: ListMemory, _: Asker) -> ToolOutcome:
        paths = list(_paths(tree.list(arguments.root)))
        return succeeded(", ".join(paths) or "nothing is saved yet", {"paths": paths})

    def delete(arguments: DeleteMemory, asker: Asker) -> ToolOutcome:
        gone = tree.delete(arguments.path, arguments.recursive, origin=asker.origin)
        return succeeded(f"deleted {', '.join(gone)}", {"deleted": gone})

    return (
        Tool("save_memory", SAVE_DESCRIPTION, SaveMemory, save, changes=True),
        Tool("query_memory", QUERY_DESCRIPTION, QueryMemory, query, quiet_work=query_quietly),
        Tool("query_heading", HEADING_DESCRIPTION, QueryHeading, query_heading),
        Tool("list_memory", LIST_DESCRIPTION, ListMemory, list_memory),
        Tool("delete_memory", DELETE_DESCRIPTION, DeleteMemory, delete, changes=True),
    )


def _paths(node: TreeNode) -> Iterator[str]:
    """Yield the paths that have an entry, from the top down."""
    if node.entry is not None:
        yield node.path
    for child in node.children:
        yield from _paths(child)


def _whole(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "content": entry.content,
        "version": entry.version,
        "created": entry.created.isoformat(),
        "modified": entry.modified.isoformat(),
        "context": [
            {
                "time": one.time.isoformat(),
                "role": one.key.role,
                "text": one.text,
                "similarity": round(one.similarity, 4),
            }
            for one in entry.snapshot
        ],
    }


def _scored(entry: ScoredEntry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "content": entry.content,
        "version": entry.version,
        "modified": entry.modified.isoformat(),
        "score": round(entry.score, 4),
        "passages": [one.chunk.text for one in entry.chunks],
    }


def _counted(passages: int) -> str:
    return f"{passages} {'passage' if passages == 1 else 'passages'}"
