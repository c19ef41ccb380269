"""The command `halo-weave`.

What a command needs is imported when it runs, so that help and errors come at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from halo_weave import __version__, paths
from halo_weave.errors import HaloError, InputError, SettingError

if TYPE_CHECKING:
    from halo_weave.config import Settings

PROGRAM = "halo-weave"
INTERRUPTED, PIPE_BROKEN = 130, 141
_Override = tuple[str, str]


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
        arguments = parser.parse_args(argv)
    except SystemExit as ending:  # --help and --version
        return int(ending.code or 0)
    command: Callable[[argparse.Namespace], int] | None = getattr(arguments, "command", None)
    if command is None:
        getattr(arguments, "parser", parser).print_help()
        return 0
    return command(arguments)


def _complain(error: HaloError, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {error}\n")
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see `{self.prog} --help`.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        allow_abbrev=False,
        description="A memory that never ends for local language models.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    common = _common_flags()
    chat = _command(commands, "chat", _chat, "talk with the model in the terminal", [common])
    _add_chat_flags(chat)
    doctor = _command(commands, "doctor", _doctor, "say what was found and whether a chat can work", [common])
    _add_json_flag(doctor)
    settings = _command(commands, "settings", _settings, "list all settings with their values and ranges", [common])
    _add_json_flag(settings)
    _add_engine_commands(commands, common)
    _add_bench_commands(commands, common)
    return parser


def _command(
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


def _common_flags() -> argparse.ArgumentParser:
    """Every flag adds (name, value) to one list in the order given, so that the last word counts."""
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("settings")
    group.add_argument(
        "--set",
        dest="overrides",
        action="append",
        type=_name_and_value,
        metavar="NAME=VALUE",
        help="any setting by its name, such as generation.temperature=0.5",
    )
    _add_setting_flag(group, "--model", "engine.model", "PATH", "a GGUF file, or a model's name on the server")
    group.add_argument("--engine", metavar="URL", help="a model server instead of a model in this process")
    _add_setting_flag(
        group, "--engine-kind", "engine.kind", "KIND", "what the server speaks: kobold (default) or openai"
    )
    _add_setting_flag(group, "--context", "engine.context_tokens", "TOKENS", "how much the model may see at once")
    _add_setting_flag(group, "--threads", "engine.threads", "N", "threads for the model")
    _add_setting_flag(group, "--gpu-layers", "engine.gpu_layers", "N", "layers to put on the GPU")
    return common


def _add_chat_flags(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("the reply")
    _add_setting_flag(group, "--temperature", "generation.temperature", "NUMBER", "how freely the model chooses")
    _add_setting_flag(group, "--seed", "generation.seed", "N", "the same seed and context give the same text")
    _add_setting_flag(group, "--max-tokens", "generation.max_tokens", "N", "the longest reply")
    _add_setting_flag(group, "--system", "chat.system_prompt", "TEXT", "what the model is told at the beginning")


def _add_setting_flag(group: Any, flag: str, setting: str, metavar: str, help_text: str) -> None:
    def named(value: str) -> _Override:
        return setting, value

    group.add_argument(flag, dest="overrides", action="append", type=named, metavar=metavar, help=help_text)


def _add_json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def _add_engine_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    engine = _command(commands, "engine", None, "the model as a server")
    serve = _command(
        engine.add_subparsers(title="commands", metavar="COMMAND"),
        "serve",
        _serve_engine,
        "serve the model to other programs and machines, with attention",
        [common],
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    serve.add_argument("--port", type=_port, default=5001, help="port to listen at (default: %(default)s)")


def _add_bench_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    bench = _command(commands, "bench", None, "measure what is claimed")
    benches = bench.add_subparsers(title="commands", metavar="COMMAND")
    engine = _command(benches, "engine", _bench_engine, "measure attention and editing on this machine", [common])
    _add_json_flag(engine)
    engine.add_argument("--repeats", type=_repeats, default=5, metavar="N", help="rounds (default: %(default)s)")
    recall = _command(benches, "recall", _bench_recall, "measure what the memory finds in long conversations", [common])
    _add_json_flag(recall)
    recall.add_argument("--data", type=Path, required=True, metavar="FILE", help="conversations with questions")


def _name_and_value(text: str) -> _Override:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value


def _port(text: str) -> int:
    return _whole_number(text, 0, 65_535)


def _repeats(text: str) -> int:
    return _whole_number(text, 1, 1000)


def _whole_number(text: str, lowest: int, highest: int) -> int:
    if not (text.isdecimal() and lowest <= int(text) <= highest):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
    return int(text)


def _load_settings(arguments: argparse.Namespace) -> "Settings":
    from halo_weave.config import load_settings

    server = {"engine.url": arguments.engine, "engine.kind": "kobold"} if arguments.engine else {}
    return load_settings(server | dict(arguments.overrides or ()), os.environ, paths.config_file())


def _chat(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from halo_weave.terminal import chat

    return chat.run(settings)


def _doctor(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from halo_weave.terminal import doctor

    return doctor.run(settings, as_json=arguments.json)


def _settings(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from halo_weave.terminal import listing

    listing.write_settings(settings, as_json=arguments.json)
    return 0


def _serve_engine(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from contextlib import closing

    from halo_weave.engine.kobold.server import serve
    from halo_weave.engine.opening import open_engine

    with closing(open_engine(settings.engine)) as engine:
        serve(engine, arguments.host, arguments.port)
    return 0


def _bench_engine(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from halo_weave.bench import engine
    from halo_weave.terminal import listing, output

    listing.write_figures(engine.run(settings, arguments.repeats, output.notice), as_json=arguments.json)
    return 0


def _bench_recall(arguments: argparse.Namespace) -> int:
    settings = _load_settings(arguments)
    from halo_weave.bench import recall
    from halo_weave.terminal import listing, output

    listing.write_figures(recall.run(settings, arguments.data, output.notice), as_json=arguments.json)
    return 0
