"""Arguments of `halo-weave tree`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import (
    add_command,
    memory_flags,
    number,
    whole_number,
    with_settings,
)

if TYPE_CHECKING:
    from halo_weave.config import Settings

_Run = Callable[["Settings", argparse.Namespace], int]
_MOST_VERSIONS = 2**62


def add_tree_commands(commands: Any, settings: argparse.ArgumentParser) -> None:
    tree = add_command(commands, "tree", None, "browse and change the memory tree")
    flags = memory_flags(settings)
    parts = tree.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: _Run, help_text: str) -> argparse.ArgumentParser:
        return add_command(parts, name, with_settings(run), help_text, [flags])

    listing = add("list", _list, "show the headings and their entries")
    listing.add_argument("path", metavar="PATH", nargs="?", default="", help="heading to start at (default: the top)")
    show = _with_path(add("show", _show, "show an entry with its snapshot"))
    show.add_argument("--version", type=_version(), metavar="N", help="show an earlier version")
    _add_save_flags(_with_path(add("save", _save, "save text or JSON at a path, with the related conversation")))
    search = add("search", _search, "search the entries under a heading")
    search.add_argument("path", metavar="PATH", help='heading; "" for the whole tree')
    search.add_argument("text", metavar="TEXT", nargs="?", help="text to search for (default: list the newest first)")
    search.add_argument(
        "--recency-bias",
        type=number(0, 1),
        default=0.3,
        metavar="SHARE",
        help="how much newer entries are preferred, from 0 to 1 (default: %(default)s)",
    )
    _with_path(add("history", _history, "list the versions of an entry"))
    restore = _with_path(add("restore", _restore, "restore an earlier version as a new one"))
    restore.add_argument("version", type=_version(), metavar="VERSION", help="number of the version")
    delete = _with_path(add("delete", _delete, "delete an entry; its history is kept"))
    delete.add_argument("--recursive", action="store_true", help="also delete everything under it")
    undelete = add("undelete", _undelete, "restore deleted entries")
    undelete.add_argument("paths", metavar="PATH", nargs="+", help="paths of the entries, such as Project/Goals")


def _with_path(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("path", metavar="PATH", help="headings separated by slashes, such as Project/Goals")
    return parser


def _add_save_flags(save: argparse.ArgumentParser) -> None:
    save.add_argument("content", metavar="CONTENT", help="plain text or JSON, or - to read it from standard input")
    save.add_argument("--text", action="store_true", help="save CONTENT as plain text even if it looks like JSON")
    save.add_argument(
        "--context-tokens",
        type=whole_number(0, 32_768),
        default=1000,
        metavar="N",
        help="tokens of the related conversation to save with it (default: %(default)s)",
    )
    save.add_argument(
        "--expect",
        type=whole_number(0, _MOST_VERSIONS),
        metavar="VERSION",
        help="fail if the entry is at another version; 0 if it must not exist yet (default: overwrite)",
    )


def _version() -> Callable[[str], int]:
    return whole_number(1, _MOST_VERSIONS)


def _list(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.show_tree(settings, arguments.path, as_json=arguments.json)


def _show(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.show(settings, arguments.path, arguments.version, as_json=arguments.json)


def _save(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.save(
        settings,
        arguments.path,
        arguments.content,
        is_text=arguments.text,
        context_tokens=arguments.context_tokens,
        expected_version=arguments.expect,
        as_json=arguments.json,
    )


def _search(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.search(
        settings, arguments.path, arguments.text, recency_bias=arguments.recency_bias, as_json=arguments.json
    )


def _history(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.history(settings, arguments.path, as_json=arguments.json)


def _restore(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.restore(settings, arguments.path, arguments.version, as_json=arguments.json)


def _delete(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.delete(settings, arguments.path, recursive=arguments.recursive, as_json=arguments.json)


def _undelete(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import tree as tree_commands

    return tree_commands.undelete(settings, arguments.paths, as_json=arguments.json)
