"""Turns the outcomes of each policy into figures: means, their intervals, and paired differences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.conversations import Question
from halo_weave.bench.intervals import interval, paired_difference
from halo_weave.bench.plots import Estimate
from halo_weave.bench.policies.outcomes import OutcomeRow, PolicyOutcome

HALO, REREAD, CEILING, FLOOR = "halo_weave", "halo_weave_reread", "full", "fifo"
TITLES = {
    "fifo": "a  newest only (FIFO)",
    "sinks": "b  first chunk and newest",
    "h2o": "c  most attention and newest (H2O-like)",
    "fifo_return": "d  newest, and what returns",
    "random_return": "e  random, and what returns",
    "rag_end": "f  retrieval only, at the end",
    "rag_time": "g  retrieval only, in order of time",
    HALO: "h  Halo Weave",
    REREAD: "h  the same tokens, read anew",
    CEILING: "i  all that fits around the evidence",
}
BUDGETED = tuple(name for name in TITLES if name != CEILING)
NEED_ATTENTION = frozenset({"h2o"})
"""Policies whose context depends on the model's attention."""
NEED_MODEL = NEED_ATTENTION | {REREAD}
"""Policies that are left out if no question is put to the model."""
_RESAMPLES = 1000
FigureValues = NDArray[np.float64]


class MeasuredPolicies(NamedTuple):
    """Outcomes by conversation, policy and budget; the ceiling's budget is 0."""

    circumstances: dict[str, Any]
    questions: Sequence[Question]
    budgets: tuple[int, ...]
    outcomes: Mapping[tuple[str, str, int], PolicyOutcome]

    @property
    def policies(self) -> list[str]:
        """Return the measured policies, in the order of their titles."""
        found = {policy for _, policy, _ in self.outcomes}
        return [policy for policy in TITLES if policy in found]

    def rows(self, policy: str, budget: int) -> list[OutcomeRow]:
        """Return the rows in the order of the questions."""
        found = [row for _, outcome in self._of(policy, budget) for row in outcome.rows]
        return sorted(found, key=lambda row: row.question)

    def decoded_per_turn(self, policy: str, budget: int) -> float | None:
        values = [one.decoded_per_turn for _, one in self._of(policy, budget) if one.decoded_per_turn is not None]
        return float(np.mean(values)) if values else None

    def _of(self, policy: str, budget: int) -> Iterator[tuple[str, PolicyOutcome]]:
        wanted = (policy, 0 if policy == CEILING else budget)
        return ((name, one) for (name, *rest), one in self.outcomes.items() if tuple(rest) == wanted)


def figures(measured: MeasuredPolicies) -> dict[str, Any]:
    """Return the object that `--json` prints."""
    asked = measured.rows(CEILING, 0)
    return {
        **measured.circumstances,
        "questions": len(asked),
        "questions_answered": sum(row.log_likelihood is not None for row in asked),
        "budgets": {str(budget): _of_budget(measured, budget) for budget in measured.budgets},
        "ahead_of": {str(budget): _ahead(measured, budget) for budget in measured.budgets},
    }


def details(measured: MeasuredPolicies) -> Iterator[dict[str, Any]]:
    """Yield an object for each question under each policy and budget."""
    for budget in measured.budgets:
        for policy in measured.policies:
            for row in measured.rows(policy, budget):
                question = measured.questions[row.question]
                yield {
                    "policy": policy,
                    "budget": budget,
                    "conversation": question.conversation,
                    "question": question.text,
                    "category": question.category,
                    "evidence": row.evidence,
                    "log_likelihood": row.log_likelihood,
                    "context_tokens": row.tokens,
                }


def gap_closed(
    floor: FigureValues, ceiling: FigureValues, policy: FigureValues
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the percentage of the gap from floor to ceiling that a policy closes, with its interval, or None."""
    chance = np.random.default_rng(1)
    if not len(floor) or (ceiling - floor).mean() <= 0:
        return None, None
    places = chance.integers(0, len(floor), (_RESAMPLES, len(floor)))
    ways, gains = (ceiling - floor)[places].mean(axis=1), (policy - floor)[places].mean(axis=1)
    closed = 100 * float((policy - floor).mean() / (ceiling - floor).mean())
    if (ways <= 0).mean() > 0.025:
        return closed, None  # in too many resamples the ceiling is not above the floor, so there is no interval
    low, high = np.percentile(100 * gains[ways > 0] / ways[ways > 0], (2.5, 97.5))
    return closed, (float(low), float(high))


def estimates(figures: Mapping[str, Any], figure: str) -> dict[str, dict[str, Estimate]]:
    """Return one figure of all policies by budget, where available, for plots."""
    found: dict[str, dict[str, Estimate]] = {}
    for budget, policies in figures["budgets"].items():
        found[budget] = {}
        for name, one in policies.items():
            if one.get(figure) is not None:
                low, high = one["intervals"].get(figure) or (one[figure], one[figure])
                found[budget][TITLES[name]] = Estimate(one[figure], low, high)
    return found


def table(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for people."""
    yield (
        f"{figures['questions']} questions, {figures['questions_answered']} of them put to the model; evidence and gap "
        "closed in percent with 95 % intervals; h − is by how much Halo Weave is ahead"
    )
    width = max(map(len, TITLES.values()))
    for budget, policies in figures["budgets"].items():
        yield ""
        columns = f"{'evidence':>22}  {'h −':>22}  {'gap closed':>22}  {'decoded per turn':>16}"
        yield f"{f'{budget} tokens':<{width}}  {columns}"
        for name, one in policies.items():
            ahead = figures["ahead_of"][budget].get(name, {}).get("evidence")
            yield (
                f"{TITLES[name]:<{width}}  {_in_words(one['evidence'], one['intervals'].get('evidence')):>22}  "
                f"{'' if ahead is None else _in_words(ahead[0], ahead[1:]):>22}  "
                f"{_in_words(one['gap_closed'], one['intervals'].get('gap_closed')):>22}  "
                f"{'' if one['decoded_per_turn'] is None else round(one['decoded_per_turn']):>16}"
            )


def _of_budget(measured: MeasuredPolicies, budget: int) -> dict[str, Any]:
    floor, ceiling = (_likelihoods(measured, name, budget) for name in (FLOOR, CEILING))
    found: dict[str, Any] = {}
    for policy in measured.policies:
        rows = measured.rows(policy, budget)
        evidence = [row.evidence for row in rows]
        likelihoods = _likelihoods(measured, policy, budget)
        closed, closed_interval = gap_closed(floor, ceiling, likelihoods)
        found[policy] = {
            "evidence": float(np.mean(evidence)),
            "gap_closed": closed,
            "decoded_per_turn": measured.decoded_per_turn(policy, budget),
            "log_likelihood": float(likelihoods.mean()) if len(likelihoods) else None,
            "context_tokens": float(np.mean([row.tokens for row in rows])),
            "intervals": {
                "evidence": interval(evidence),
                "gap_closed": closed_interval,
                "log_likelihood": interval(likelihoods.tolist()) if len(likelihoods) else None,
            },
        }
    return found


def _ahead(measured: MeasuredPolicies, budget: int) -> dict[str, Any]:
    """Return how far Halo Weave is ahead of each other policy on the same questions: mean, low, high."""
    evidence = [row.evidence for row in measured.rows(HALO, budget)]
    likelihoods = _likelihoods(measured, HALO, budget)
    found: dict[str, Any] = {}
    for policy in measured.policies:
        if policy != HALO:
            others = [row.evidence for row in measured.rows(policy, budget)]
            theirs = _likelihoods(measured, policy, budget)
            are_known = len(theirs) > 0 and len(likelihoods) > 0  # the ceiling is known at every budget
            found[policy] = {
                "evidence": paired_difference(others, evidence),
                "log_likelihood": paired_difference(theirs.tolist(), likelihoods.tolist()) if are_known else None,
            }
    return found


def _likelihoods(measured: MeasuredPolicies, policy: str, budget: int) -> FigureValues:
    rows = measured.rows(policy, budget)
    return np.array([row.log_likelihood for row in rows if row.log_likelihood is not None], dtype=np.float64)


def _in_words(value: float | None, ends: Sequence[float] | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" + ("" if ends is None else f" [{ends[0]:.1f}, {ends[1]:.1f}]")
