"""Plots of `bench keep`: evidence kept by share of the tokens, and brightness by age."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.keep.feeding import FedConversation
from halo_weave.bench.keep.ranking import Moment
from halo_weave.bench.plots import COLOURS, INK, Estimate, new_figure, quiet
from halo_weave.weave.worth import middle_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AGE_STEP = 512


class Fading:
    """Brightness by age, separately for chunks with evidence, as a rank from 0 to 100 among the chunks at that time."""

    def __init__(self) -> None:
        self._ranks: dict[bool, defaultdict[int, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}

    def add(self, moments: Iterable[Moment], evidence: NDArray[np.int64], fed: FedConversation) -> None:
        holds_evidence = set(evidence.tolist())
        for moment in moments:
            ranks = 100 * (middle_ranks(moment.peaks[: moment.chunks]) - 0.5) / max(1, moment.chunks)
            for place, rank in enumerate(ranks.tolist()):
                age = (moment.place - fed.chunks[place].end) // _AGE_STEP
                self._ranks[place in holds_evidence][max(0, age)].append(rank)

    def means(self, *, of_evidence: bool) -> dict[int, float]:
        """Return mean ranks by age in tokens, given as the middle of each age step."""
        ranks = self._ranks[of_evidence]
        return {_AGE_STEP * age + _AGE_STEP // 2: float(np.mean(ranks[age])) for age in sorted(ranks)}


def draw(curves: Mapping[str, Mapping[int, Estimate]], fading: Fading, scorer: str) -> "Figure":
    figure, (kept, faded) = new_figure(columns=2)
    _draw_curves(kept, curves)
    quiet(kept, title="Evidence kept", x="tokens kept, %", y="evidence kept, %")
    for colour, is_evidence, label in ((COLOURS[0], True, "evidence"), (COLOURS[6], False, "all else")):
        means = fading.means(of_evidence=is_evidence)
        faded.plot(list(means), list(means.values()), color=colour, linewidth=1.4, label=label)
    faded.legend(fontsize=7, frameon=False, labelcolor=INK)
    quiet(faded, title=f"Brightness ({scorer}) over time", x="age in tokens", y="mean rank among the living, %")
    return figure


def _draw_curves(axes: "Axes", curves: Mapping[str, Mapping[int, Estimate]]) -> None:
    for place, (name, points) in enumerate(curves.items()):
        colour, shares = COLOURS[place % len(COLOURS)], sorted(points)
        axes.plot(shares, [points[one].mean for one in shares], color=colour, linewidth=1.4, label=name)
        lows, highs = [points[one].low for one in shares], [points[one].high for one in shares]
        axes.fill_between(shares, lows, highs, color=colour, alpha=0.12, linewidth=0)
    axes.legend(fontsize=7, frameon=False, labelcolor=INK)
