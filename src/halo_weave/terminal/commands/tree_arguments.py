"""What can be asked of `halo-weave tree`."""

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
    tree = add_command(commands, "tree", None, "look at the memory tree and change it")
    flags = memory_flags(settings)
    parts = tree.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: _Run, help_text: str) -> argparse.ArgumentParser:
        return add_command(parts, name, with_settings(run), help_text, [flags])

    listing = add("list", _list, "show the headings and what is saved at them")
    listing.add_argument("path", metavar="PATH", nargs="?", default="", help="where to begin (default: at the top)")
    show = _with_path(add("show", _show, "show an entry with its snapshot"))
    show.add_argument("--version", type=_version(), metavar="N", help="as it was in an earlier version")
    _add_save_flags(_with_path(add("save", _save, "save JSON under a path, with what was said about it")))
    search = add("search", _search, "find entries under a heading by what they are about")
    search.add_argument("path", metavar="PATH", help='the heading; "" for the whole tree')
    search.add_argument("text", metavar="TEXT", nargs="?", help="what to look for (default: the newest come first)")
    search.add_argument(
        "--recency-bias", type=number(0, 1), default=0.3, metavar="SHARE", help="what age counts (default: %(default)s)"
    )
    _with_path(add("history", _history, "list all versions of an entry"))
    restore = _with_path(add("restore", _restore, "save an earlier version once more"))
    restore.add_argument("version", type=_version(), metavar="VERSION", help="its number")
    delete = _with_path(add("delete", _delete, "delete an entry; its history stays"))
    delete.add_argument("--recursive", action="store_true", help="and everything under it")
    undelete = add("undelete", _undelete, "bring deleted entries back")
    undelete.add_argument("paths", metavar="PATH", nargs="+", help="their paths, such as Project/Goals")


def _with_path(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("path", metavar="PATH", help="headings with slashes between, such as Project/Goals")
    return parser


def _add_save_flags(save: argparse.ArgumentParser) -> None:
    save.add_argument("content", metavar="CONTENT", help="JSON, or - to read it from standard input")
    save.add_argument("--text", action="store_true", help="take CONTENT as plain text, not as JSON")
    save.add_argument(
        "--context-tokens",
        type=whole_number(0, 32_768),
        default=1000,
        metavar="N",
        help="how much of what was said goes with it (default: %(default)s)",
    )
    save.add_argument(
        "--expect",
        type=whole_number(0, _MOST_VERSIONS),
        metavar="VERSION",
        help="refuse if it has another version by now; 0 if it must be new (default: overwrite)",
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
