"""Benchmarks that ask how fast something is: the engine, brightness, the page, large memories, a turn."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import whole_number
from halo_weave.terminal.commands.bench.measuring import Notice, add_bench, add_count_flag

if TYPE_CHECKING:
    from halo_weave.config import Settings

_FEWEST_CHUNKS, _MOST_CHUNKS = 1000, 100_000_000


def add_engine(benches: Any, flags: argparse.ArgumentParser) -> None:
    engine = add_bench(
        benches, "engine", _engine, "measure the speed of attention and of context editing on this machine", flags
    )
    add_count_flag(engine, "--repeats", 5, "number of rounds", 1, 1000)


def _engine(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import engine

    return engine.run(settings, arguments.repeats, notice)


def add_brightness(benches: Any, flags: argparse.ArgumentParser) -> None:
    add_bench(benches, "brightness", _brightness, "measure the cost of scoring one step", flags)


def _brightness(settings: "Settings", _: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import brightness

    return brightness.run(settings, notice)


def add_page(benches: Any, flags: argparse.ArgumentParser) -> None:
    page = add_bench(benches, "page", _page, "measure how smoothly the page runs in Chromium", flags)
    add_count_flag(page, "--turns", 100_000, "turns of the conversation that is scrolled through", 100, 10_000_000)


def _page(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import page

    return page.run(settings, notice, turns=arguments.turns)


def add_scale(benches: Any, flags: argparse.ArgumentParser) -> None:
    scale = add_bench(benches, "scale", _scale, "measure very large memories", flags)
    scale.add_argument(
        "--chunks",
        type=whole_number(_FEWEST_CHUNKS, _MOST_CHUNKS),
        nargs="+",
        metavar="N",
        help="sizes of the memories in chunks (default: 10000 100000 1000000)",
    )


def _scale(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.scale import scale

    return scale.run(settings, arguments.chunks or scale.SIZES, notice)


def add_turn(benches: Any, flags: argparse.ArgumentParser) -> None:
    turn = add_bench(benches, "turn", _turn, "measure the overhead of a turn beyond the model's own work", flags)
    add_count_flag(turn, "--turns", 5, "number of turns", 1, 1000)
    add_count_flag(turn, "--chunks", 100_000, "chunks in the made-up memory", _FEWEST_CHUNKS, _MOST_CHUNKS)
    turn.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="fill the memory with the conversations of this file, and ask its questions",
    )


def _turn(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import turn

    return turn.run(settings, arguments.turns, notice, arguments.chunks, arguments.data)
