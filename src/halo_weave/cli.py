"""The command `halo-weave`.

What a command needs is imported when it runs, so that help and errors come at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from halo_weave import __version__
from halo_weave.errors import HaloError, InputError, SettingError
from halo_weave.terminal import memory_arguments
from halo_weave.terminal.arguments import (
    Parser,
    add_command,
    add_json_flag,
    add_setting_flag,
    engine_flags,
    load_settings,
    overrides_of,
    settings_flags,
    whole_number,
)

PROGRAM = "halo-weave"
INTERRUPTED, PIPE_BROKEN = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code: 1 if something failed, 2 if it was asked for wrongly."""
    try:
        code = _run(argv)
        sys.stdout.flush()
    except (SettingError, InputError) as error:
        return _complain(error, 2)
    except HaloError as error:
        return _complain(error, 1)
    except BrokenPipeError:
        # Python would complain again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        arguments = parser.parse_args(_with_command(sys.argv[1:] if argv is None else argv))
    except SystemExit as ending:  # --help and --version
        return int(ending.code or 0)
    command: Callable[[argparse.Namespace], int] | None = getattr(arguments, "command", None)
    if command is None:
        getattr(arguments, "parser", parser).print_help()
        return 0
    return command(arguments)


def _with_command(argv: Sequence[str]) -> list[str]:
    """Whoever names no command wants the page."""
    is_served = not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version"))
    return ["serve", *argv] if is_served else list(argv)


def _complain(error: HaloError, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {error}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="A memory that never ends for local language models.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    common = engine_flags()
    serve = add_command(commands, "serve", _serve, "open the page in the browser (also without a command)", [common])
    _add_serve_flags(serve)
    chat = add_command(commands, "chat", _chat, "talk with the model in the terminal", [common])
    _add_chat_flags(chat)
    doctor = add_command(commands, "doctor", _doctor, "say what was found and whether a chat can work", [common])
    add_json_flag(doctor)
    settings = add_command(commands, "settings", _settings, "list all settings with their values and ranges", [common])
    add_json_flag(settings)
    memory_arguments.add_transfer_commands(commands, settings_flags())
    memory_arguments.add_memory_commands(commands, settings_flags())
    _add_engine_commands(commands, common)
    _add_bench_commands(commands, common)
    return parser


def _add_serve_flags(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    serve.add_argument(
        "--port", type=whole_number(0, 65_535), help="port to listen at (default: the first free one from 8642 on)"
    )
    serve.add_argument("--no-browser", action="store_true", help="do not open the browser")
    add_setting_flag(serve, "--db", "memory.path", "FILE", "another memory than the usual one")


def _add_chat_flags(chat: argparse.ArgumentParser) -> None:
    chat.add_argument(
        "--window",
        default="main",
        metavar="NAME",
        help="the conversation to go on with or begin (default: %(default)s)",
    )
    add_setting_flag(chat, "--db", "memory.path", "FILE", "another memory than the usual one")
    group = chat.add_argument_group("the reply")
    add_setting_flag(group, "--temperature", "generation.temperature", "NUMBER", "how freely the model chooses")
    add_setting_flag(group, "--seed", "generation.seed", "N", "the same seed and context give the same text")
    add_setting_flag(group, "--max-tokens", "generation.max_tokens", "N", "the longest reply")
    add_setting_flag(group, "--system", "chat.system_prompt", "TEXT", "what the model is told at the beginning")


def _add_engine_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    engine = add_command(commands, "engine", None, "the model as a server")
    serve = add_command(
        engine.add_subparsers(title="commands", metavar="COMMAND"),
        "serve",
        _serve_engine,
        "serve the model to other programs and machines, with attention",
        [common],
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    serve.add_argument(
        "--port", type=whole_number(0, 65_535), default=5001, help="port to listen at (default: %(default)s)"
    )


def _add_bench_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    bench = add_command(commands, "bench", None, "measure what is claimed")
    benches = bench.add_subparsers(title="commands", metavar="COMMAND")
    engine = add_command(benches, "engine", _bench_engine, "measure attention and editing on this machine", [common])
    add_json_flag(engine)
    engine.add_argument(
        "--repeats", type=whole_number(1, 1000), default=5, metavar="N", help="rounds (default: %(default)s)"
    )
    brightness = add_command(benches, "brightness", _bench_brightness, "measure what scoring a step costs", [common])
    add_json_flag(brightness)
    page = add_command(benches, "page", _bench_page, "measure how smooth the page is, in Chromium", [common])
    add_json_flag(page)
    recall = add_command(
        benches, "recall", _bench_recall, "measure what the memory finds in long conversations", [common]
    )
    add_json_flag(recall)
    recall.add_argument("--data", type=Path, required=True, metavar="FILE", help="conversations with questions")
    scale = add_command(benches, "scale", _bench_scale, "measure memories as large as a lifetime", [common])
    add_json_flag(scale)
    scale.add_argument(
        "--chunks",
        type=whole_number(1000, 100_000_000),
        nargs="+",
        metavar="N",
        help="how large they are (default: 10000 100000 1000000)",
    )
    turn = add_command(benches, "turn", _bench_turn, "measure what a turn costs beside the model's own work", [common])
    add_json_flag(turn)
    turn.add_argument(
        "--turns", type=whole_number(1, 1000), default=5, metavar="N", help="turns (default: %(default)s)"
    )
    turn.add_argument(
        "--chunks",
        type=whole_number(1000, 100_000_000),
        default=100_000,
        metavar="N",
        help="chunks in the memory (default: %(default)s)",
    )


def _serve(arguments: argparse.Namespace) -> int:
    load_settings(arguments)
    from halo_weave.server import running

    return running.run(
        overrides_of(arguments),
        host=arguments.host,
        port=arguments.port,
        opens_browser=not arguments.no_browser,
    )


def _chat(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.terminal import chat

    return chat.run(settings, arguments.window)


def _doctor(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.terminal import doctor

    return doctor.run(settings, as_json=arguments.json)


def _settings(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.terminal import listing

    listing.write_settings(settings, as_json=arguments.json)
    return 0


def _serve_engine(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from contextlib import closing

    from halo_weave.engine.kobold.server import serve
    from halo_weave.engine.opening import open_engine

    with closing(open_engine(settings.engine)) as engine:
        serve(engine, arguments.host, arguments.port)
    return 0


def _bench_engine(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.bench import engine
    from halo_weave.terminal import listing, output

    listing.write_figures(engine.run(settings, arguments.repeats, output.notice), as_json=arguments.json)
    return 0


def _bench_brightness(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.bench import brightness
    from halo_weave.terminal import listing, output

    listing.write_figures(brightness.run(settings, output.notice), as_json=arguments.json)
    return 0


def _bench_page(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    import msgspec

    from halo_weave.bench import page
    from halo_weave.terminal import listing, output

    figures = page.run(settings, output.notice)
    listing.write_figures(msgspec.to_builtins(figures), as_json=arguments.json)
    return 0


def _bench_recall(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.bench import recall
    from halo_weave.terminal import listing, output

    listing.write_figures(recall.run(settings, arguments.data, output.notice), as_json=arguments.json)
    return 0


def _bench_turn(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    import msgspec

    from halo_weave.bench import turn
    from halo_weave.terminal import listing, output

    figures = turn.run(settings, arguments.turns, output.notice, arguments.chunks)
    listing.write_figures(msgspec.to_builtins(figures), as_json=arguments.json)
    return 0


def _bench_scale(arguments: argparse.Namespace) -> int:
    settings = load_settings(arguments)
    from halo_weave.bench import scale
    from halo_weave.terminal import listing, output

    figures = scale.run(settings, arguments.chunks or scale.SIZES, output.notice)
    listing.write_figures(figures, as_json=arguments.json)
    return 0
