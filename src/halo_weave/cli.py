"""The command `halo-weave`.

Each command imports its modules when it runs, so that help and errors appear immediately.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave import __version__
from halo_weave.errors import HaloError, InputError, SettingError
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
    with_settings,
)
from halo_weave.terminal.commands import memory_arguments, notes_arguments, tree_arguments

if TYPE_CHECKING:
    from halo_weave.config import Settings

PROGRAM = "halo-weave"
INTERRUPTED, PIPE_BROKEN = 130, 141
_Notice = Callable[[str], None]
_Bench = Callable[["Settings", argparse.Namespace, _Notice], object]
_InWords = Callable[[Mapping[str, Any]], Iterable[str]]


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
    common = engine_flags()
    serve = add_command(commands, "serve", _serve, "open the page in the browser (the default command)", [common])
    _add_serve_flags(serve)
    chat = add_command(commands, "chat", with_settings(_chat), "chat with the model in the terminal", [common])
    _add_chat_flags(chat)
    doctor = add_command(
        commands, "doctor", with_settings(_doctor), "check the installation and report whether a chat works", [common]
    )
    add_json_flag(doctor)
    settings = add_command(
        commands,
        "settings",
        with_settings(_settings),
        "list all settings with their values and allowed ranges",
        [common],
    )
    add_json_flag(settings)
    memory_arguments.add_transfer_commands(commands, settings_flags())
    memory_arguments.add_memory_commands(commands, settings_flags())
    notes_arguments.add_notes_commands(commands, settings_flags())
    tree_arguments.add_tree_commands(commands, settings_flags())
    mcp = add_command(
        commands, "mcp", with_settings(_mcp), "share this memory with another assistant over MCP", [settings_flags()]
    )
    add_setting_flag(mcp, "--db", "memory.path", "FILE", "use this memory file instead of the default one")
    study = add_command(commands, "study", _study, "plot a capture: attention, and which chunks left and returned")
    study.add_argument("capture", type=Path, metavar="CAPTURE", help="folder that the capture was written to")
    study.add_argument(
        "--out", type=Path, metavar="FILE", help="HTML file to write (default: next to the capture, with its name)"
    )
    _add_engine_commands(commands, common)
    _add_bench_commands(commands, common)
    return parser


def _add_serve_flags(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    serve.add_argument(
        "--port", type=whole_number(0, 65_535), help="port to listen on (default: the first free port from 8642)"
    )
    serve.add_argument("--no-browser", action="store_true", help="do not open the browser")
    add_setting_flag(serve, "--db", "memory.path", "FILE", "use this memory file instead of the default one")


def _add_chat_flags(chat: argparse.ArgumentParser) -> None:
    chat.add_argument(
        "--window",
        default="main",
        metavar="NAME",
        help="conversation to continue or start (default: %(default)s)",
    )
    add_setting_flag(chat, "--db", "memory.path", "FILE", "use this memory file instead of the default one")
    group = chat.add_argument_group("reply")
    add_setting_flag(
        group,
        "--temperature",
        "generation.temperature",
        "NUMBER",
        "randomness of the reply; 0 always picks the most likely token",
    )
    add_setting_flag(group, "--seed", "generation.seed", "N", "seed for sampling, for reproducible replies")
    add_setting_flag(group, "--max-tokens", "generation.max_tokens", "N", "maximum length of a reply in tokens")
    add_setting_flag(group, "--system", "chat.system_prompt", "TEXT", "system prompt for the conversation")


def _add_engine_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    engine = add_command(commands, "engine", None, "run the model as a server")
    serve = add_command(
        engine.add_subparsers(title="commands", metavar="COMMAND"),
        "serve",
        with_settings(_serve_engine),
        "serve the model, including its attention, to other programs and machines",
        [common],
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serve.add_argument(
        "--port", type=whole_number(0, 65_535), default=5001, help="port to listen on (default: %(default)s)"
    )


def _add_bench_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    bench = add_command(commands, "bench", None, "run the benchmarks")
    benches = bench.add_subparsers(title="commands", metavar="COMMAND")
    engine = add_command(
        benches,
        "engine",
        _measuring(_bench_engine),
        "measure the speed of attention and of context editing on this machine",
        [common],
    )
    add_json_flag(engine)
    engine.add_argument(
        "--repeats", type=whole_number(1, 1000), default=5, metavar="N", help="number of rounds (default: %(default)s)"
    )
    brightness = add_command(
        benches, "brightness", _measuring(_bench_brightness), "measure the cost of scoring one step", [common]
    )
    add_json_flag(brightness)
    page = add_command(
        benches, "page", _measuring(_bench_page), "measure how smoothly the page runs in Chromium", [common]
    )
    add_json_flag(page)
    recall = add_command(
        benches,
        "recall",
        _measuring(_bench_recall),
        "measure how well the memory answers questions about long conversations",
        [common],
    )
    add_json_flag(recall)
    recall.add_argument("--data", type=Path, required=True, metavar="FILE", help="file of conversations with questions")
    recall.add_argument(
        "--without",
        choices=("words", "meaning", "attention"),
        help="leave one of the search's signals out, to see its worth",
    )
    recall.add_argument("--details", type=Path, metavar="FILE", help="write one line of JSON per question to this file")
    _add_peers_command(benches, common)
    restraint = add_command(
        benches,
        "restraint",
        _measuring(_bench_restraint),
        "measure what returns for messages that need no memory",
        [common],
    )
    add_json_flag(restraint)
    restraint.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="file of conversations to fill the memory with"
    )
    restraint.add_argument(
        "--repeats",
        type=whole_number(1, 1000),
        default=5,
        metavar="N",
        help="number of greetings to send (default: %(default)s)",
    )
    keep = add_command(
        benches,
        "keep",
        _measuring(_bench_keep, _keep_in_words),
        "measure whether the context keeps what later questions need",
        [common],
    )
    add_json_flag(keep)
    keep.add_argument("--data", type=Path, required=True, metavar="FILE", help="file of conversations with questions")
    keep.add_argument(
        "--tokens",
        type=whole_number(256, 16_777_216),
        metavar="N",
        help="tokens of each conversation that the model reads (default: the model's context)",
    )
    keep.add_argument("--details", type=Path, metavar="FILE", help="write one line of JSON per question to this file")
    keep.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="plot the figures to this file (.png or .svg; both if it has no suffix)",
    )
    policies = add_command(
        benches,
        "policies",
        _measuring(_bench_policies, _policies_in_words),
        "compare Halo Weave with other ways to keep a context small",
        [common],
    )
    _add_policies_flags(policies)
    _add_nextturn(benches, common)
    _add_reader_commands(benches, common)
    scale = add_command(benches, "scale", _measuring(_bench_scale), "measure very large memories", [common])
    add_json_flag(scale)
    scale.add_argument(
        "--chunks",
        type=whole_number(1000, 100_000_000),
        nargs="+",
        metavar="N",
        help="sizes of the memories in chunks (default: 10000 100000 1000000)",
    )
    turn = add_command(
        benches, "turn", _measuring(_bench_turn), "measure the overhead of a turn beyond the model's own work", [common]
    )
    add_json_flag(turn)
    turn.add_argument(
        "--turns", type=whole_number(1, 1000), default=5, metavar="N", help="number of turns (default: %(default)s)"
    )
    turn.add_argument(
        "--chunks",
        type=whole_number(1000, 100_000_000),
        default=100_000,
        metavar="N",
        help="chunks in the memory (default: %(default)s)",
    )
    for measuring in benches.choices.values():
        measuring.add_argument(
            "--save", type=Path, metavar="FOLDER", help="also write a result file to this folder, for `bench results`"
        )
    results = add_command(benches, "results", _bench_results, "build the results page from result files")
    for flag, default, what in (
        ("--folder", "docs/results", "folder with the result files"),
        ("--page", "docs/results.md", "page to write"),
        ("--readme", "README.md", "file whose table of figures is updated"),
    ):
        results.add_argument(
            flag, type=Path, default=Path(default), metavar="PATH", help=f"{what} (default: %(default)s)"
        )


def _add_nextturn(benches: Any, common: argparse.ArgumentParser) -> None:
    nextturn = add_command(
        benches,
        "nextturn",
        _measuring(_bench_nextturn, _nextturn_in_words),
        "measure how much the model expects the true next turn under each policy",
        [common],
    )
    add_json_flag(nextturn)
    nextturn.add_argument("--data", type=Path, required=True, metavar="FILE", help="file of conversations")
    for flag, default, what in (
        ("--turns", 20, "number of replies to measure; 0 for all"),
        ("--replay", 4096, "tokens at the end of each conversation to replay"),
    ):
        nextturn.add_argument(
            flag, type=whole_number(0, 1_000_000), default=default, metavar="N", help=f"{what} (default: %(default)s)"
        )
    nextturn.add_argument(
        "--budgets",
        type=whole_number(64, 16_777_216),
        nargs="+",
        default=[512, 1024, 2048],
        metavar="N",
        help="context sizes in tokens (default: 512 1024 2048)",
    )


def _add_reader_commands(benches: Any, common: argparse.ArgumentParser) -> None:
    embedding = add_command(
        benches,
        "embedding",
        _measuring(_bench_embedding),
        "measure what the reader costs beside the bundled embedder",
        [common],
    )
    add_json_flag(embedding)
    embedding.add_argument(
        "--data", type=Path, metavar="FILE", help="file of conversations to take a sample from (default: prose)"
    )
    heads = add_command(
        benches,
        "heads",
        _measuring(_bench_heads),
        "find the attention heads of a model that look at what a question is about",
        [common],
    )
    add_json_flag(heads)
    heads.add_argument(
        "--data", type=Path, metavar="FILE", help="file of conversations with questions to try the heads on, too"
    )
    heads.add_argument(
        "--chats",
        type=whole_number(1, 1000),
        default=2,
        metavar="N",
        help="number of conversations of the file to use (default: %(default)s)",
    )


def _add_peers_command(benches: Any, common: argparse.ArgumentParser) -> None:
    peers = add_command(
        benches, "peers", _measuring(_bench_peers), "compare our search with other search packages", [common]
    )
    add_json_flag(peers)
    peers.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="file of conversations whose questions all peers get"
    )
    peers.add_argument(
        "--chunks",
        type=whole_number(1000, 100_000_000),
        nargs="*",
        metavar="N",
        help="chunks in made-up memories for speed alone; no number for none (default: 10000 100000)",
    )
    peers.add_argument(
        "--peers", nargs="+", default=(), metavar="NAME", help="peers to compare (default: all that are installed)"
    )


def _add_policies_flags(policies: argparse.ArgumentParser) -> None:
    add_json_flag(policies)
    policies.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="file of conversations with questions"
    )
    for flag, default, what in (
        ("--questions", 20, "number of questions to put to the model; evidence is measured for all questions"),
        ("--replay", 4096, "tokens at the end of each conversation to replay"),
        ("--chats", 0, "number of conversations to replay; 0 for all"),
    ):
        policies.add_argument(
            flag, type=whole_number(0, 1_000_000), default=default, metavar="N", help=f"{what} (default: %(default)s)"
        )
    policies.add_argument(
        "--budgets",
        type=whole_number(64, 16_777_216),
        nargs="+",
        default=[512, 1024, 2048],
        metavar="N",
        help="context sizes in tokens (default: 512 1024 2048)",
    )
    policies.add_argument(
        "--put-at",
        type=whole_number(64, 16_777_216),
        nargs="+",
        default=[],
        metavar="N",
        help="context sizes at which questions are put to the model (default: all)",
    )
    policies.add_argument(
        "--jobs",
        type=whole_number(1, 1024),
        default=1,
        metavar="N",
        help="number of parallel processes, each with its own model (default: %(default)s)",
    )
    policies.add_argument(
        "--details", type=Path, metavar="FILE", help="write one line of JSON per question to this file"
    )
    policies.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="plot the figures to this file (.png or .svg; both if it has no suffix)",
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


def _chat(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.chat import chat

    return chat.run(settings, arguments.window)


def _mcp(settings: "Settings", _: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import mcp as mcp_command

    return mcp_command.run(settings)


def _doctor(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal.commands import doctor

    return doctor.run(settings, as_json=arguments.json)


def _settings(settings: "Settings", arguments: argparse.Namespace) -> int:
    from halo_weave.terminal import listing

    listing.write_settings(settings, as_json=arguments.json)
    return 0


def _study(arguments: argparse.Namespace) -> int:
    from halo_weave.terminal import study

    return study.run(arguments.capture, arguments.out)


def _serve_engine(settings: "Settings", arguments: argparse.Namespace) -> int:
    from contextlib import closing

    from halo_weave.engine.factory import open_engine
    from halo_weave.server.kobold.server import serve

    with closing(open_engine(settings.engine)) as engine:
        serve(engine, arguments.host, arguments.port)
    return 0


def _measuring(run: _Bench, in_words: _InWords | None = None) -> Callable[[argparse.Namespace], int]:
    """Wrap a benchmark as a command that reports progress and writes its figures, for people with `in_words`."""

    def measure(settings: "Settings", arguments: argparse.Namespace) -> int:
        import msgspec

        from halo_weave.terminal import listing, output

        figures = msgspec.to_builtins(run(settings, arguments, output.notice))
        if arguments.save is not None:
            from halo_weave.bench.results import results

            bench, data = arguments.parser.prog.split()[-1], getattr(arguments, "data", None)
            results.save(arguments.save, bench, arguments.words, figures, data)
        if in_words is None or arguments.json:
            listing.write_figures(figures, as_json=arguments.json)
        else:
            output.write_line("\n".join(in_words(figures)))
        return 0

    return with_settings(measure)


def _bench_engine(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import engine

    return engine.run(settings, arguments.repeats, notice)


def _bench_brightness(settings: "Settings", _: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import brightness

    return brightness.run(settings, notice)


def _bench_embedding(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.embedding import embedding

    return embedding.run(settings, arguments.data, notice)


def _bench_heads(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import heads

    return heads.run(settings, arguments.data, arguments.chats, notice)


def _bench_page(settings: "Settings", _: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import page

    return page.run(settings, notice)


def _bench_recall(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import recall

    return recall.run(settings, arguments.data, notice, details=arguments.details, without=arguments.without)


def _bench_peers(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.peers import peers

    sizes = peers.SIZES if arguments.chunks is None else arguments.chunks
    return peers.run(settings, arguments.data, notice, sizes=sizes, names=arguments.peers)


def _bench_restraint(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.restraint import restraint

    return restraint.run(settings, arguments.data, arguments.repeats, notice)


def _bench_keep(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.keep import keep

    return keep.run(
        settings,
        arguments.data,
        tokens=arguments.tokens,
        details=arguments.details,
        plot=arguments.plot,
        on_progress=notice,
    )


def _bench_policies(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.policies import policies

    return policies.run(
        settings,
        arguments.data,
        policies.Choice(
            budgets=arguments.budgets,
            questions=arguments.questions,
            replayed=arguments.replay,
            processes=arguments.jobs,
            chats=arguments.chats,
            put_at=arguments.put_at,
        ),
        details=arguments.details,
        plot=arguments.plot,
        on_progress=notice,
    )


def _policies_in_words(figures: Mapping[str, Any]) -> Iterable[str]:
    from halo_weave.bench.policies.figures import table

    return table(figures)


def _bench_nextturn(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.nextturn import nextturn

    choice = nextturn.NextTurnChoice(budgets=arguments.budgets, turns=arguments.turns, replayed=arguments.replay)
    return nextturn.run(settings, arguments.data, choice, notice)


def _nextturn_in_words(figures: Mapping[str, Any]) -> Iterable[str]:
    from halo_weave.bench.nextturn.figures import table

    return table(figures)


def _bench_results(arguments: argparse.Namespace) -> int:
    from halo_weave.bench.results import results
    from halo_weave.terminal import output

    made_of = results.make(arguments.folder, arguments.page, arguments.readme)
    output.write_line(f"{arguments.page} was built from {len(made_of)} result files.")
    return 0


def _keep_in_words(figures: Mapping[str, Any]) -> Iterable[str]:
    from halo_weave.bench.keep.figures import table

    return table(figures)


def _bench_turn(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench import turn

    return turn.run(settings, arguments.turns, notice, arguments.chunks)


def _bench_scale(settings: "Settings", arguments: argparse.Namespace, notice: _Notice) -> object:
    from halo_weave.bench.scale import scale

    return scale.run(settings, arguments.chunks or scale.SIZES, notice)
