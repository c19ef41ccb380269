"""Benchmarks that ask whether the context holds what is needed next, and what the model makes of it."""

import argparse
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from halo_weave.terminal.arguments import whole_number
from halo_weave.terminal.commands.bench.measuring import (
    Notice,
    add_bench,
    add_count_flag,
    add_data_flag,
    add_details_flag,
    add_plot_flag,
)

if TYPE_CHECKING:
    from halo_weave.config import Settings

_MOST_TOKENS = 16_777_216


def add_keep(benches: Any, flags: argparse.ArgumentParser) -> None:
    keep = add_bench(
        benches, "keep", _keep, "measure whether the context keeps what later questions need", flags, _keep_in_words
    )
    add_data_flag(keep)
    keep.add_argument(
        "--tokens",
        type=whole_number(256, _MOST_TOKENS),
        metavar="N",
        help="tokens of each conversation that the model reads (default: the model's context)",
    )
    keep.add_argument(
        "--without-model",
        action="store_true",
        help="leave out the scorers of brightness, for which the model must read every conversation",
    )
    add_details_flag(keep)
    add_plot_flag(keep)


def _keep(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.keep import keep

    return keep.run(
        settings,
        arguments.data,
        tokens=arguments.tokens,
        details=arguments.details,
        plot=arguments.plot,
        with_model=not arguments.without_model,
        on_progress=notice,
    )


def _keep_in_words(figures: Mapping[str, Any]) -> Iterable[str]:
    from halo_weave.bench.keep.figures import table

    return table(figures)


def add_policies(benches: Any, flags: argparse.ArgumentParser) -> None:
    policies = add_bench(
        benches,
        "policies",
        _policies,
        "compare Halo Weave with other ways to keep a context small",
        flags,
        _policies_in_words,
    )
    add_data_flag(policies)
    add_count_flag(
        policies, "--questions", 20, "number of questions to put to the model; evidence is measured for all questions"
    )
    _add_replay_flag(policies)
    add_count_flag(policies, "--chats", 0, "number of conversations to replay; 0 for all")
    _add_budgets_flag(policies)
    policies.add_argument(
        "--put-at",
        type=whole_number(64, _MOST_TOKENS),
        nargs="+",
        default=[],
        metavar="N",
        help="context sizes at which questions are put to the model (default: all)",
    )
    add_count_flag(policies, "--jobs", 1, "number of parallel processes, each with its own model", 1, 1024)
    add_details_flag(policies)
    add_plot_flag(policies)


def _policies(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
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


def add_nextturn(benches: Any, flags: argparse.ArgumentParser) -> None:
    nextturn = add_bench(
        benches,
        "nextturn",
        _nextturn,
        "measure how much the model expects the true next turn under each policy",
        flags,
        _nextturn_in_words,
    )
    add_data_flag(nextturn, "file of conversations")
    add_count_flag(nextturn, "--turns", 20, "number of replies to measure; 0 for all")
    _add_replay_flag(nextturn)
    _add_budgets_flag(nextturn)


def _nextturn(settings: "Settings", arguments: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench.nextturn import nextturn

    choice = nextturn.NextTurnChoice(budgets=arguments.budgets, turns=arguments.turns, replayed=arguments.replay)
    return nextturn.run(settings, arguments.data, choice, notice)


def _nextturn_in_words(figures: Mapping[str, Any]) -> Iterable[str]:
    from halo_weave.bench.nextturn.figures import table

    return table(figures)


def _add_replay_flag(bench: argparse.ArgumentParser) -> None:
    add_count_flag(bench, "--replay", 4096, "tokens at the end of each conversation to replay")


def _add_budgets_flag(bench: argparse.ArgumentParser) -> None:
    bench.add_argument(
        "--budgets",
        type=whole_number(64, _MOST_TOKENS),
        nargs="+",
        default=[512, 1024, 2048],
        metavar="N",
        help="context sizes in tokens (default: 512 1024 2048)",
    )


def add_repetition(benches: Any, flags: argparse.ArgumentParser) -> None:
    add_bench(benches, "repetition", _repetition, "measure how much the model repeats itself in a reply", flags)


def _repetition(settings: "Settings", _: argparse.Namespace, notice: Notice) -> object:
    from halo_weave.bench import repetition

    return repetition.run(settings, notice)
