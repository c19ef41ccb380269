"""Command-line arguments: the flags that commands share, and the parsers for their values.

Code that needs the settings is imported only when a command runs, so help and usage errors appear at once.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from halo_weave import paths
from halo_weave.errors import InputError

if TYPE_CHECKING:
    from halo_weave.config import Settings

Override = tuple[str, str]
"""A setting's name and its value as text."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see `{self.prog} --help`.")


def with_settings(run: "Callable[[Settings, argparse.Namespace], int]") -> Callable[[argparse.Namespace], int]:
    """Wrap a command so that the settings are loaded and checked before it runs."""
    return lambda arguments: run(load_settings(arguments), arguments)


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int] | None,
    help_text: str,
    parents: Sequence[argparse.ArgumentParser] = (),
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, parents=parents, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.", allow_abbrev=False
    )
    parser.set_defaults(parser=parser, **({"command": run} if run else {}))
    return parser


def settings_flags() -> argparse.ArgumentParser:
    """Return the flags for settings. All append (name, value) to one list in the order given, so the last one wins."""
    flags = argparse.ArgumentParser(add_help=False)
    group = flags.add_argument_group("settings")
    group.add_argument(
        "--set",
        dest="overrides",
        action="append",
        type=_name_and_value,
        metavar="NAME=VALUE",
        help="set any setting by name, such as generation.temperature=0.5",
    )
    return flags


def engine_flags() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(add_help=False, parents=[settings_flags()])
    group = flags.add_argument_group("model")
    add_setting_flag(group, "--model", "engine.model", "PATH", "GGUF file, or the model's name on the server")
    group.add_argument("--engine", metavar="URL", help="use the model server at this address")
    add_setting_flag(
        group, "--engine-kind", "engine.kind", "KIND", "protocol of the server: kobold (default) or openai"
    )
    add_setting_flag(group, "--context", "engine.context_tokens", "TOKENS", "size of the context in tokens")
    add_setting_flag(group, "--threads", "engine.threads", "N", "CPU threads for the model")
    add_setting_flag(group, "--gpu-layers", "engine.gpu_layers", "N", "model layers to run on the GPU")
    return flags


def add_setting_flag(group: Any, flag: str, setting: str, metavar: str, help_text: str) -> None:
    def named(value: str) -> Override:
        return setting, value

    group.add_argument(flag, dest="overrides", action="append", type=named, metavar=metavar, help=help_text)


def add_db_flag(parser: argparse.ArgumentParser) -> None:
    add_setting_flag(parser, "--db", "memory.path", "FILE", "use this memory file instead of the default one")


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def load_settings(arguments: argparse.Namespace) -> "Settings":
    from halo_weave.config import former_setting_notices, load_settings
    from halo_weave.terminal import output

    layers = overrides_of(arguments), os.environ, paths.config_file()
    settings = load_settings(*layers)
    for notice in former_setting_notices(*layers):
        output.notice(notice)
    return settings


def overrides_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings that the command line overrides, as text."""
    engine = getattr(arguments, "engine", None)
    server = {"engine.url": engine, "engine.kind": "kobold"} if engine else {}
    return server | dict(arguments.overrides or ())


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isdecimal() and lowest <= int(text) <= highest):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
        return int(text)

    return read


def number(lowest: float, highest: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest:g} to {highest:g}")
        return value

    return read


def _name_and_value(text: str) -> Override:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} does not have the form NAME=VALUE")
    return name.strip(), value


def memory_flags(settings: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return the flags for commands that work on a memory."""
    flags = argparse.ArgumentParser(add_help=False, parents=[settings])
    add_db_flag(flags)
    add_json_flag(flags)
    return flags
