"""`halo-weave tree`: shows, searches and changes the memory tree."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.records.tree import LARGEST_CONTENT_BYTES
from halo_weave.records.tree_paths import path_of_text
from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted
from halo_weave.terminal.commands.tree_lines import (
    entry_for_programs,
    entry_in_words,
    node_for_programs,
    node_in_words,
    scored_for_programs,
    scored_in_words,
    version_in_words,
)
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import ORIGIN, opened_memory
from halo_weave.text.plain_or_json import is_plain_text
from halo_weave.tools.tree.tree import MemoryTree, Saved

_STDIN = "-"
_PAGE = 1000


@contextmanager
def opened_tree(settings: Settings, *, may_be_new: bool = False) -> Iterator[MemoryTree]:
    with opened_memory(settings, may_be_new=may_be_new) as memory:
        yield MemoryTree(memory)


def show_tree(settings: Settings, root: str, *, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        node = tree.list(root)
    if as_json:
        write_json(node_for_programs(node))
    else:
        output.write_line("\n".join(node_in_words(node)) or "No entries here.")
    return 0


def show(settings: Settings, path: str, version: int | None, *, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        entry = tree.entry(path) if version is None else tree.version(path, version)
    if as_json:
        write_json(entry_for_programs(entry))
    else:
        output.write_line("\n".join(entry_in_words(entry)))
    return 0


def save(
    settings: Settings,
    path: str,
    content: str,
    *,
    is_text: bool,
    context_tokens: int,
    expected_version: int | None,
    as_json: bool,
) -> int:
    path = path_of_text(path)
    value = _content(content, is_text=is_text)
    with opened_tree(settings, may_be_new=True) as tree:
        saved = tree.save(path, value, context_tokens, origin=ORIGIN, expected_version=expected_version)
    _tell_saved(saved, as_json=as_json)
    return 0


def search(settings: Settings, root: str, text: str | None, *, recency_bias: float, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        found = tree.query_heading(root, text, recency_bias)
    if as_json:
        write_json([scored_for_programs(one) for one in found])
        return 0
    if not found:
        output.write_line("No entries here.")
    for place, one in enumerate(found, start=1):
        output.write_line("\n".join(scored_in_words(place, one)))
    return 0


def history(settings: Settings, path: str, *, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        versions = page = tree.history(path, limit=_PAGE)
        while len(page) == _PAGE:
            page = tree.history(path, page[-1].version, _PAGE)
            versions += page
    if as_json:
        write_json([one._asdict() for one in versions])
    else:
        output.write_line("\n".join(map(version_in_words, versions)))
    return 0


def restore(settings: Settings, path: str, version: int, *, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        saved = tree.restore(path, version, origin=ORIGIN)
    _tell_saved(saved, as_json=as_json)
    return 0


def delete(settings: Settings, path: str, *, recursive: bool, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        gone = tree.delete(path, recursive, origin=ORIGIN)
    if as_json:
        write_json({"deleted": gone})
    else:
        output.write_line("\n".join(gone))
        output.notice(f"({_entries(len(gone))} deleted; `halo-weave tree undelete PATH` restores one)")
    return 0


def undelete(settings: Settings, paths: Sequence[str], *, as_json: bool) -> int:
    with opened_tree(settings) as tree:
        back = tree.undelete(paths, origin=ORIGIN)
    if as_json:
        write_json({"undeleted": back})
    else:
        output.write_line(f"{_entries(len(back))} restored.")
    return 0


def _content(content: str, *, is_text: bool) -> Any:
    if content == _STDIN:
        content = sys.stdin.read(LARGEST_CONTENT_BYTES + 1)
    if is_text or is_plain_text(content):
        return content
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(
            f"The content is not valid JSON ({error}); use --text to save it as plain text. Nothing was saved."
        ) from None


def _tell_saved(saved: Saved, *, as_json: bool) -> None:
    if as_json:
        write_json(saved)
        return
    output.write_line(
        f"Saved {saved.path} as version {saved.version}, with {counted(saved.chunks, 'chunk')} of the conversation "
        f"({counted(saved.snapshot_tokens, 'token')})."
    )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
