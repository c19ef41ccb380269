"""Builds the memory tree from its paths, and formats its top levels as a few lines of text."""

from collections.abc import Iterable, Iterator

from halo_weave.records.tree import TreeOutline
from halo_weave.records.tree_paths import ancestors_of, heading_of, parent_of
from halo_weave.tools.tree.entries import TreeNode

_INDENT = "  "


def tree_of(root: str, outlines: Iterable[TreeOutline]) -> TreeNode:
    """Build the tree below a root. `outlines` are at the root or under it, each path before the paths under it."""
    nodes = {"": _node("", None)}
    for outline in outlines:
        for path in (*ancestors_of(outline.path), outline.path):
            if path not in nodes:
                nodes[path] = _node(path, outline if path == outline.path else None)
                nodes[parent_of(path)].children.append(nodes[path])
    return nodes.get(root, _node(root, None))


def text_of(tree: TreeNode, levels: int, most_characters: int) -> str:
    """Format as many levels as fit, and count what is left out."""
    lines: list[str] = []
    for depth in range(max(levels, 1), 0, -1):
        lines = list(_lines(tree, depth))
        if _length(lines) <= most_characters:
            return "\n".join(lines)
    kept = len(lines)
    while kept and _length([*lines[:kept], _more(len(lines) - kept)]) > most_characters:
        kept -= 1
    return "\n".join([*lines[:kept], _more(len(lines) - kept)])[:most_characters]


def _node(path: str, entry: TreeOutline | None) -> TreeNode:
    return TreeNode(heading_of(path), path, entry, [])


def _lines(node: TreeNode, depth: int, indent: str = "") -> Iterator[str]:
    for child in node.children:
        yield indent + _named(child, is_last=depth == 1)
        if depth > 1:
            yield from _lines(child, depth - 1, indent + _INDENT)


def _named(node: TreeNode, *, is_last: bool) -> str:
    if not node.children:
        return node.heading
    notes = ["entry"] if node.entry is not None else []
    if is_last:
        notes.append(f"{sum(child.count() for child in node.children)} below")
    return f"{node.heading}/" + (f" ({', '.join(notes)})" if notes else "")


def _more(headings: int) -> str:
    return f"… {headings} more"


def _length(lines: list[str]) -> int:
    return sum(map(len, lines)) + len(lines) - 1
