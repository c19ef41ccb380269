"""A benchmark as a command: it reports progress, prints its figures, and can save them for `bench results`."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import add_command, add_json_flag, whole_number, with_settings

if TYPE_CHECKING:
    from halo_weave.config import Settings

Notice = Callable[[str], None]
Bench = Callable[["Settings", argparse.Namespace, Notice], object]
InWords = Callable[[Mapping[str, Any]], Iterable[str]]


def add_bench(
    benches: Any,
    name: str,
    run: Bench,
    help_text: str,
    flags: argparse.ArgumentParser,
    in_words: InWords | None = None,
) -> argparse.ArgumentParser:
    """Add a benchmark. Without --json its figures are written by `in_words`, or else as a list."""
    bench = add_command(benches, name, with_settings(_measuring(run, in_words)), help_text, [flags])
    add_json_flag(bench)
    return bench


def add_data_flag(bench: argparse.ArgumentParser, help_text: str = "file of conversations with questions") -> None:
    bench.add_argument("--data", type=Path, required=True, metavar="FILE", help=help_text)


def add_details_flag(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("--details", type=Path, metavar="FILE", help="write one line of JSON per question to this file")


def add_plot_flag(bench: argparse.ArgumentParser) -> None:
    bench.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="plot the figures to this file (.png or .svg; both if it has no suffix)",
    )


def add_count_flag(
    bench: argparse.ArgumentParser, flag: str, default: int, help_text: str, lowest: int = 0, highest: int = 1_000_000
) -> None:
    bench.add_argument(
        flag,
        type=whole_number(lowest, highest),
        default=default,
        metavar="N",
        help=f"{help_text} (default: %(default)s)",
    )


def _measuring(run: Bench, in_words: InWords | None) -> "Callable[[Settings, argparse.Namespace], int]":
    def measure(settings: "Settings", arguments: argparse.Namespace) -> int:
        import msgspec

        from halo_weave.terminal import listing, output

        figures = msgspec.to_builtins(run(settings, arguments, output.notice))
        if arguments.save is not None:
            from halo_weave.bench.results import results

            bench, data = arguments.parser.prog.split()[-1], getattr(arguments, "data", None)
            results.save(arguments.save, bench, arguments.words, figures, data if isinstance(data, Path) else None)
        if in_words is None or arguments.json:
            listing.write_figures(figures, as_json=arguments.json)
        else:
            output.write_line("\n".join(in_words(figures)))
        return 0

    return measure
