"""The commands of `halo-weave bench`, in the order in which help lists them."""

import argparse
from pathlib import Path
from typing import Any

from halo_weave.terminal.arguments import add_command
from halo_weave.terminal.commands.bench import context_arguments, reader_arguments, search_arguments, speed_arguments

_BENCHES = (
    speed_arguments.add_engine,
    speed_arguments.add_brightness,
    speed_arguments.add_page,
    search_arguments.add_recall,
    search_arguments.add_peers,
    search_arguments.add_restraint,
    search_arguments.add_need,
    context_arguments.add_keep,
    context_arguments.add_policies,
    context_arguments.add_nextturn,
    context_arguments.add_repetition,
    reader_arguments.add_embedding,
    reader_arguments.add_heads,
    speed_arguments.add_scale,
    speed_arguments.add_turn,
)


def add_bench_commands(commands: Any, flags: argparse.ArgumentParser) -> None:
    bench = add_command(commands, "bench", None, "run the benchmarks")
    benches = bench.add_subparsers(title="commands", metavar="COMMAND")
    for add in _BENCHES:
        add(benches, flags)
    for parser in benches.choices.values():
        parser.add_argument(
            "--save", type=Path, metavar="FOLDER", help="also write a result file to this folder, for `bench results`"
        )
    _add_results(benches)


def _add_results(benches: Any) -> None:
    results = add_command(benches, "results", _results, "build the results page from result files")
    for flag, default, what in (
        ("--folder", "docs/results", "folder with the result files"),
        ("--page", "docs/results.md", "page to write; sections for figures of the pages beside it are updated"),
        ("--readme", "README.md", "file whose table of figures is updated"),
    ):
        results.add_argument(
            flag, type=Path, default=Path(default), metavar="PATH", help=f"{what} (default: %(default)s)"
        )


def _results(arguments: argparse.Namespace) -> int:
    from halo_weave.bench.results import results
    from halo_weave.terminal import output

    made_of = results.make(arguments.folder, arguments.page, arguments.readme)
    output.write_line(f"{arguments.page} was built from {len(made_of)} result files.")
    return 0
