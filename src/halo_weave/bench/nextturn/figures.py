"""Turns the likelihoods of the true next turns into figures: means, and paired differences with their intervals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halo_weave.bench.intervals import paired_difference
from halo_weave.bench.policies.figures import HALO, TITLES

NextTurnFigures = dict[str, Any]


def figures(about: Mapping[str, Any], likelihoods: Mapping[str, Mapping[str, Sequence[float]]]) -> NextTurnFigures:
    """Return the object that `--json` prints, from the mean log-likelihood per token of each turn, by budget and
    policy. `ahead` is by how much Halo Weave is ahead of a policy on the same turns: mean, low, high."""
    return {
        **about,
        "budgets": {
            budget: {
                policy: {
                    "nats": float(np.mean(values)),
                    "ahead": None if policy == HALO else paired_difference(values, policies[HALO]),
                }
                for policy, values in policies.items()
            }
            for budget, policies in likelihoods.items()
        },
    }


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for people."""
    yield f"{found['turns']} turns; nats per token of the true next turn, and by how much h is ahead (95 % intervals)"
    width = max(map(len, TITLES.values()))
    for budget, policies in found["budgets"].items():
        yield ""
        yield f"{f'{budget} tokens':<{width}}  {'nats':>8}  {'h −':>24}"
        for policy, one in policies.items():
            ahead = one["ahead"]
            in_words = "" if ahead is None else f"{ahead[0]:+.3f} [{ahead[1]:+.3f}, {ahead[2]:+.3f}]"
            yield f"{TITLES[policy]:<{width}}  {one['nats']:>8.3f}  {in_words:>24}"
