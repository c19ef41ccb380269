"""The figures of `bench keep`: means with intervals, differences, and a table."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halo_weave.bench import plots
from halo_weave.bench.intervals import interval, paired_difference
from halo_weave.bench.keep.ranking import CONTROLS, WORTH

SHARES = (25, 50)


class KeepOutcome:
    """Percent of the evidence kept, by order, share and question."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, share: int, value: float) -> None:
        self._kept[name][share].append(value)

    def of(self, name: str, share: int) -> list[float]:
        return self._kept[name][share]

    def means(self, name: str) -> dict[str, float]:
        return {f"kept_at_{share}": float(np.mean(self.of(name, share))) for share in SHARES}

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        return {f"kept_at_{share}": interval(self.of(name, share)) for share in SHARES}

    def curve(self, name: str) -> dict[int, plots.Estimate]:
        means = {share: float(np.mean(values)) for share, values in self._kept[name].items()}
        return {share: plots.Estimate(mean, *interval(self.of(name, share))) for share, mean in means.items()}


def summary(
    outcome: KeepOutcome, default: str, scorers: Sequence[str], ablated: Sequence[str], added: Sequence[str]
) -> dict[str, Any]:
    against = [name for name in (*scorers, *CONTROLS) if name != default]
    return {
        "default": {
            "scorer": default,
            **outcome.means(default),
            **{f"pruned_at_{share}": float(np.mean(outcome.of("pruned", share))) for share in SHARES},
        },
        "scorers": {name: outcome.means(name) for name in scorers},
        "controls": {name: outcome.means(name) for name in CONTROLS},
        "ablation": {name: outcome.means(name) for name in ablated},
        "added": {name: outcome.means(name) for name in added},
        "intervals": {name: outcome.intervals(name) for name in (*scorers, *CONTROLS, *ablated, *added)},
        "default_ahead_of": {
            name: {
                f"kept_at_{share}": paired_difference(outcome.of(name, share), outcome.of(default, share))
                for share in SHARES
            }
            for name in (*against, *ablated, *added)
        },
    }


def table(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for people."""
    default = figures["default"]["scorer"]
    yield (
        f"{figures['questions']} questions about {figures['conversations']} conversations of up to {figures['tokens']} "
        f"tokens; evidence kept in percent with 95 % intervals, and by how much {default} is ahead"
    )
    groups = tuple(name for name in ("scorers", "controls", "ablation", "added") if figures[name])
    width = max(len(name) for group in groups for name in figures[group])
    for group in groups:
        yield ""
        yield f"{group:<{width}}" + "".join(f"  {f'at {share} %':>20}  {'ahead':>20}" for share in SHARES)
        for name, means in figures[group].items():
            ahead = figures["default_ahead_of"].get(name, {})
            cells = [
                f"  {_in_words(means[key], figures['intervals'][name][key]):>20}  "
                f"{_in_words(ahead[key][0], ahead[key][1:]) if ahead else '':>20}"
                for key in means
            ]
            yield f"{name:<{width}}" + "".join(cells)
    pruned = " / ".join(f"{figures['default'][f'pruned_at_{share}']:.1f}" for share in SHARES)
    yield ""
    yield f"{default} by the rules of pruning: {pruned}"
    yield ""
    yield from _life(figures["life"])


def _life(figures: Mapping[str, Any]) -> Iterator[str]:
    yield f"whole conversations through {figures['budget']} tokens, nothing returning: evidence that lives at the end"
    width = max(map(len, figures["orders"]))
    for name, means in figures["orders"].items():
        ahead = figures[f"{WORTH}_ahead_of"].get(name)
        difference = f"  {WORTH} is ahead by {_in_words(ahead['living'][0], ahead['living'][1:])}" if ahead else ""
        yield f"{name:<{width}}  {_in_words(means['living'], figures['intervals'][name]['living'])}{difference}"


def _in_words(mean: float, ends: Sequence[float]) -> str:
    return f"{mean:.1f} [{ends[0]:.1f}, {ends[1]:.1f}]"
