"""Arguments of `halo-weave memory`, `export` and `import`."""

import argparse
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave.errors import InputError
from halo_weave.terminal.address import Address, address_of_text
from halo_weave.terminal.arguments import (
    add_command,
    add_setting_flag,
    memory_flags,
    number,
    whole_number,
    with_settings,
)

if TYPE_CHECKING:
    from halo_weave.config import Settings

_Run = Callable[["Settings", argparse.Namespace], int]


def add_transfer_commands(commands: Any, settings: argparse.ArgumentParser) -> None:
    flags = memory_flags(settings)
    export = add_command(commands, "export", with_settings(_export), "export the whole memory to a file", [flags])
    export.add_argument("file", type=Path, metavar="FILE", help="file to write; compressed if its name ends in .gz")
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    export.add_argument("--skip-damaged", action="store_true", help="skip damaged records and list them")
    bring = add_command(
        commands,
        "import",
        with_settings(_import),
        "import an export of Halo Weave or of its browser version",
        [flags],
    )
    bring.add_argument("file", type=Path, metavar="FILE", help="file to import; its format is detected")


def add_memory_commands(commands: Any, settings: argparse.ArgumentParser) -> None:
    memory = add_command(commands, "memory", None, "inspect, search and maintain the memory")
    flags = memory_flags(settings)
    parts = memory.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: _Run, help_text: str) -> argparse.ArgumentParser:
        return add_command(parts, name, with_settings(run), help_text, [flags])

    add("stats", _stats, "show the size of the memory")
    _add_search_flags(add("search", _search, "find chunks by meaning and words"))
    _add_address(add("show", _show, "show a turn or one of its chunks, even if deleted"))
    _add_address(add("delete", _delete, "delete a turn or one of its chunks; it can be restored"))
    _add_address(add("undelete", _undelete, "restore what was deleted"))
    _add_embedder_flags(add("reembed", _reembed, "compute missing vectors, or all vectors with another model"))
    backup = add("backup", _backup, "copy the memory to a file, even while it is in use")
    backup.add_argument("file", type=Path, metavar="FILE", help="file to write; it must not exist yet")
    add("verify", _verify, "check the whole memory and list all problems")
    repair = add("repair", _repair, "set damaged rows aside so that the rest works")
    repair.add_argument("--dry-run", action="store_true", help="show what would be done without changing anything")
    add("damaged", _damaged, "list the rows that repairs have set aside")
    _add_yes_flag(add("clear", _clear, "back up the memory, then empty it"))
    forget = add("forget", _forget, "permanently remove a turn, a chunk, or everything that is deleted")
    _add_address(forget, is_optional=True)
    _add_yes_flag(forget)


def _add_search_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="text to search for")
    parser.add_argument(
        "--limit",
        type=whole_number(1, 1000),
        default=10,
        metavar="N",
        help="maximum number of chunks to show (default: %(default)s)",
    )
    parser.add_argument(
        "--role",
        dest="roles",
        action="append",
        choices=("user", "assistant", "system"),
        help="only chunks of these roles",
    )
    parser.add_argument("--since", type=_time, metavar="TIME", help="only chunks since this date or time (ISO 8601)")
    parser.add_argument("--until", type=_time, metavar="TIME", help="only chunks before this date or time")
    parser.add_argument(
        "--mmr",
        type=number(0, 1),
        metavar="SHARE",
        help="diversity of the results: 1 ranks by relevance only, 0 by difference only",
    )


def _add_embedder_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("embedder (default: the one in the settings)")
    add_setting_flag(group, "--embedder", "embedder.kind", "KIND", "minilm (bundled), gguf or openai")
    add_setting_flag(
        group, "--embedder-model", "embedder.model", "MODEL", "GGUF file, or the model's name on the server"
    )
    add_setting_flag(group, "--embedder-url", "embedder.url", "URL", "address of the embedding server (openai)")


def _add_address(parser: argparse.ArgumentParser, *, is_optional: bool = False) -> None:
    parser.add_argument(
        "address",
        type=_address,
        metavar="TURN[:CHUNK]",
        help="number of the turn, and optionally of the chunk within it",
        nargs="?" if is_optional else None,
    )


def _add_yes_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _address(text: str) -> Address:
    try:
        return address_of_text(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).removesuffix(".")) from None


def _time(text: str) -> datetime:
    """Parse a date or time; without a time zone it is local time."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a date or time such as 2026-05-17 or 2026-05-17T12:30"
        ) from None


def _export(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import transfer

    return transfer.export(
        settings,
        arguments.file,
        overwrite=arguments.overwrite,
        skip_damaged=arguments.skip_damaged,
        as_json=arguments.json,
    )


def _import(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import transfer

    return transfer.bring_in(settings, arguments.file, as_json=arguments.json)


def _stats(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.stats(settings, as_json=arguments.json)


def _search(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.search(
        settings,
        arguments.text,
        limit=arguments.limit,
        roles=arguments.roles,
        since=arguments.since,
        until=arguments.until,
        mmr_lambda=arguments.mmr,
        as_json=arguments.json,
    )


def _show(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.show(settings, arguments.address, as_json=arguments.json)


def _delete(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.delete(settings, arguments.address, as_json=arguments.json)


def _undelete(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.undelete(settings, arguments.address, as_json=arguments.json)


def _reembed(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import embedding

    return embedding.reembed(settings, as_json=arguments.json)


def _backup(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.backup(settings, arguments.file, as_json=arguments.json)


def _verify(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import memory as memory_commands

    return memory_commands.verify(settings, as_json=arguments.json)


def _repair(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import repair as repair_commands

    return repair_commands.repair(settings, is_dry_run=arguments.dry_run, as_json=arguments.json)


def _damaged(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import repair as repair_commands

    return repair_commands.damaged(settings, as_json=arguments.json)


def _clear(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import erasing

    return erasing.clear(settings, is_agreed=arguments.yes, as_json=arguments.json)


def _forget(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import erasing

    return erasing.forget(settings, arguments.address, is_agreed=arguments.yes, as_json=arguments.json)
