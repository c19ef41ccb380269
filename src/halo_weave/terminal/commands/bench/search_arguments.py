"""Benchmarks that ask what the search finds, and whether it stays silent when nothing is needed."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import whole_number
from halo_weave.terminal.commands.bench.measuring import (
    Notice,
    add_bench,
    add_count_flag,
    add_data_flag,
    add_details_flag,
)

if TYPE_CHECKING:
    from halo_weave.config import Settings


def add_recall(benches: Any, flags: argparse.ArgumentParser) -> None:
    recall = add_bench(
        benches, "recall", _recall, "measure how well the memory answers questions about long conversations", flags
    )
    add_data_flag(recall)
    recall.add_argument(
        "--without",
        choices=("words", "meaning", "attention"),
        help="leave one of the search's signals out, to see its worth",
    )
    add_details_flag(recall)


def _recall(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import recall

    return recall.run(settings, arguments.data, notice, details=arguments.details, without=arguments.without)


def add_peers(benches: Any, flags: argparse.ArgumentParser) -> None:
    peers = add_bench(benches, "peers", _peers, "compare our search with other search packages", flags)
    add_data_flag(peers, "file of conversations whose questions all peers get")
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


def _peers(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.peers import peers

    sizes = peers.SIZES if arguments.chunks is None else arguments.chunks
    return peers.run(settings, arguments.data, notice, sizes=sizes, names=arguments.peers)


def add_restraint(benches: Any, flags: argparse.ArgumentParser) -> None:
    restraint = add_bench(
        benches, "restraint", _restraint, "measure what returns for messages that need no memory", flags
    )
    add_data_flag(restraint, "file of conversations to fill the memory with")
    add_count_flag(restraint, "--repeats", 5, "number of greetings to send", 1, 1000)


def _restraint(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.restraint import restraint

    return restraint.run(settings, arguments.data, arguments.repeats, notice)


def add_need(benches: Any, flags: argparse.ArgumentParser) -> None:
    need = add_bench(benches, "need", _need, "fit the numbers that decide what a message needs", flags)
    need.add_argument(
        "--data", type=Path, nargs="+", required=True, metavar="FILE", help="files of conversations with questions"
    )


def _need(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.need import need

    return need.run(settings, arguments.data, notice)
