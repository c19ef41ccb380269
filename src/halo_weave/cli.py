"""The command `halo-weave`: which commands there are, and what their endings mean to the shell.

A group of commands has a module of arguments in `terminal.commands`. That module imports the code which does the work
only when a command runs, so that help and errors appear immediately.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from halo_weave import __version__
from halo_weave.errors import HaloError, InputError, SettingError
from halo_weave.terminal.arguments import Parser, engine_flags, settings_flags
from halo_weave.terminal.commands import (
    chat_arguments,
    installation_arguments,
    memory_arguments,
    notes_arguments,
    server_arguments,
    study_arguments,
    tree_arguments,
)
from halo_weave.terminal.commands.bench import bench_arguments

PROGRAM = "halo-weave"
INTERRUPTED, PIPE_BROKEN = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 1 if it failed, 2 if the input or a setting was invalid."""
    try:
        code = _run(argv)
        sys.stdout.flush()
    except (SettingError, InputError) as error:
        return _complain(error, 2)
    except HaloError as error:
        return _complain(error, 1)
    except BrokenPipeError:
        # Otherwise Python would report the error again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        words = _with_command(sys.argv[1:] if argv is None else argv)
        arguments = parser.parse_args(words, argparse.Namespace(words=words))
    except SystemExit as ending:  # --help and --version
        return int(ending.code or 0)
    command: Callable[[argparse.Namespace], int] | None = getattr(arguments, "command", None)
    if command is None:
        getattr(arguments, "parser", parser).print_help()
        return 0
    return command(arguments)


def _with_command(argv: Sequence[str]) -> list[str]:
    """Without a command, open the page."""
    is_served = not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version"))
    return ["serve", *argv] if is_served else list(argv)


def _complain(error: HaloError, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {error}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="Endless memory for local language models.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    with_model, with_settings = engine_flags(), settings_flags()
    chat_arguments.add_serve_command(commands, with_model)
    chat_arguments.add_chat_command(commands, with_model)
    chat_arguments.add_demo_command(commands, with_model)
    installation_arguments.add_doctor_command(commands, with_model)
    installation_arguments.add_settings_command(commands, with_model)
    memory_arguments.add_transfer_commands(commands, with_settings)
    memory_arguments.add_memory_commands(commands, with_settings)
    notes_arguments.add_notes_commands(commands, with_settings)
    tree_arguments.add_tree_commands(commands, with_settings)
    server_arguments.add_mcp_command(commands, with_settings)
    study_arguments.add_study_command(commands)
    server_arguments.add_engine_commands(commands, with_model)
    bench_arguments.add_bench_commands(commands, with_model)
    return parser
