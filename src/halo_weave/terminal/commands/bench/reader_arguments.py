"""Benchmarks of the reader: what it costs, and which of a model's heads could be its looking head."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.commands.bench.measuring import Notice, add_bench, add_count_flag

if TYPE_CHECKING:
    from halo_weave.config import Settings


def add_embedding(benches: Any, flags: argparse.ArgumentParser) -> None:
    embedding = add_bench(
        benches, "embedding", _embedding, "measure what the reader costs beside the bundled embedder", flags
    )
    embedding.add_argument(
        "--data", type=Path, metavar="FILE", help="file of conversations to take a sample from (default: prose)"
    )


def _embedding(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.embedding import embedding

    return embedding.run(settings, arguments.data, notice)


def add_heads(benches: Any, flags: argparse.ArgumentParser) -> None:
    heads = add_bench(
        benches,
        "heads",
        _heads,
        "find the attention heads of a model that look at what a question is about",
        flags,
    )
    heads.add_argument(
        "--data", type=Path, metavar="FILE", help="file of conversations with questions to try the heads on, too"
    )
    add_count_flag(heads, "--chats", 2, "number of conversations of the file to use", 1, 1000)


def _heads(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import heads

    return heads.run(settings, arguments.data, arguments.chats, notice)
