"""Arguments of `halo-weave notes`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import add_command, memory_flags, whole_number, with_settings

if TYPE_CHECKING:
    from halo_weave.config import Settings

_Run = Callable[["Settings", argparse.Namespace], int]
_LARGEST_VERSION = 2**53 - 1


def add_notes_commands(commands: Any, settings: argparse.ArgumentParser) -> None:
    notes = add_command(commands, "notes", None, "read and change the notes with jq")
    flags = memory_flags(settings)
    parts = notes.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: _Run, help_text: str) -> argparse.ArgumentParser:
        return add_command(parts, name, with_settings(run), help_text, [flags])

    show = add("show", _show, "show the whole document")
    show.add_argument("--version", type=_version(), metavar="N", help="show an earlier version")
    _add_filter(add("query", _query, "print the result of a jq filter"))
    patch = _add_filter(add("patch", _patch, "replace the notes with the result of a jq filter"))
    _add_expect(patch, "apply it to the newest version")
    replace = add("replace", _replace, "replace the whole document")
    replace.add_argument("file", metavar="FILE", help="a JSON object or plain text; - reads it from standard input")
    _add_expect(replace, "overwrite the newest version")
    add("undo", _undo, "undo the last change; repeat to go further back")
    history = add("history", _history, "list the versions, newest first")
    history.add_argument(
        "--limit",
        type=whole_number(1, 1_000_000),
        default=20,
        metavar="N",
        help="maximum number to list (default: %(default)s)",
    )
    restore = add("restore", _restore, "restore an earlier version as a new one")
    restore.add_argument("version", type=_version(), metavar="VERSION", help="number of the version; 0 for empty notes")


def _add_filter(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("filter", metavar="FILTER", help="such as .topics or '.topics.garden = \"roses\"'")
    return parser


def _add_expect(parser: argparse.ArgumentParser, otherwise: str) -> None:
    parser.add_argument(
        "--expect",
        type=_version(),
        metavar="VERSION",
        help=f"fail if the notes are at another version (default: {otherwise})",
    )


def _version() -> Callable[[str], int]:
    return whole_number(0, _LARGEST_VERSION)


def _show(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.show(settings, arguments.version, as_json=arguments.json)


def _query(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.query(settings, arguments.filter, as_json=arguments.json)


def _patch(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.patch(settings, arguments.filter, arguments.expect, as_json=arguments.json)


def _replace(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.replace(settings, arguments.file, arguments.expect, as_json=arguments.json)


def _undo(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.undo(settings, as_json=arguments.json)


def _history(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.history(settings, arguments.limit, as_json=arguments.json)


def _restore(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import notes as notes_commands

    return notes_commands.restore(settings, arguments.version, as_json=arguments.json)
