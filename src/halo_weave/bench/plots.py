"""Plots of benchmark figures as PNG or SVG, without global state and without opening a window.

matplotlib draws them. It is an optional dependency that only this module needs.
"""

from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from halo_weave.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999933", "#882255", "#5d3a9b", "#444444")
"""Chosen to be distinguishable with colour blindness, as far as ten colours can be."""
INK, PALE = "#333333", "#dddddd"
_INCHES_WIDE, _INCHES_HIGH = 5.6, 3.6


class Estimate(NamedTuple):
    """A mean and the ends of its interval."""

    mean: float
    low: float
    high: float


def require_plots(path: Path) -> None:
    """Raise InputError if a plot could not be saved to `path`, before a long run rather than after it."""
    _targets(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"Cannot save the plot: the folder {path.parent} does not exist.")
    with _matplotlib():
        import matplotlib.figure  # noqa: F401


def new_figure(rows: int = 1, columns: int = 1) -> "tuple[Figure, list[Axes]]":
    """Return a figure and its axes, row by row."""
    with _matplotlib():
        from matplotlib.figure import Figure
    figure = Figure(figsize=(_INCHES_WIDE * columns, _INCHES_HIGH * rows), layout="constrained", facecolor="white")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [one for row in axes for one in row]


def quiet(axes: "Axes", *, title: str = "", x: str = "", y: str = "") -> None:
    """Remove the box around the data and put a pale grid behind it."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, labelsize=8, length=0)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x, fontsize=8, color=INK)
    axes.set_ylabel(y, fontsize=8, color=INK)


def save(figure: "Figure", path: Path) -> list[Path]:
    """Save the figure in the format of the suffix, or as PNG and SVG without one. Return the files written."""
    with _matplotlib():
        import matplotlib
    targets = _targets(path)
    try:
        # A fixed salt and no date, so that the same figures give the same file.
        with matplotlib.rc_context({"svg.hashsalt": "halo-weave"}):
            for target in targets:
                figure.savefig(target, dpi=160, metadata={"Date": None} if target.suffix == ".svg" else {})
    except OSError as error:
        raise InputError(f"Cannot save the plot to {path}: {error.strerror}.") from error
    return targets


def evidence_against_budget(series: Mapping[str, Mapping[int, Estimate]], title: str) -> "Figure":
    """Plot a line per method over the budgets, with intervals as bands; the last method is drawn in front."""
    figure, (axes,) = new_figure()
    draw_lines(axes, series)
    quiet(axes, title=title, x="budget in tokens", y="evidence in context, %")
    return figure


def draw_lines(axes: "Axes", series: Mapping[str, Mapping[int, Estimate]]) -> None:
    for place, (name, points) in enumerate(series.items()):
        colour, budgets = COLOURS[place % len(COLOURS)], sorted(points)
        means = [points[budget].mean for budget in budgets]
        axes.plot(budgets, means, color=colour, marker="o", markersize=3, linewidth=1.4, label=name)
        lows, highs = [points[one].low for one in budgets], [points[one].high for one in budgets]
        axes.fill_between(budgets, lows, highs, color=colour, alpha=0.12, linewidth=0)
    budgets = sorted({budget for points in series.values() for budget in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.legend(fontsize=7, frameon=False, labelcolor=INK)


def side_by_side(panels: Mapping[str, Mapping[str, Mapping[str, Estimate]]], highlight: str = "") -> "Figure":
    """Draw bars for figure → group → method: a panel per figure, with the methods of each group side by side.

    A figure without data is left out, and the `highlight` method stands out from the others.
    """
    there = {name: groups for name, groups in panels.items() if any(groups.values())}
    figure, axes = new_figure(rows=max(1, len(there)))
    figure.set_figwidth(1.5 * figure.get_figwidth())
    for one, (name, groups) in zip(axes, there.items(), strict=False):
        _draw_bars(one, groups, highlight)
        quiet(one, title=name)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7, frameon=False, labelcolor=INK)
    return figure


def _draw_bars(axes: "Axes", groups: Mapping[str, Mapping[str, Estimate]], highlight: str) -> None:
    methods = list(dict.fromkeys(method for values in groups.values() for method in values))
    width = 0.85 / max(1, len(methods))
    for place, method in enumerate(methods):
        there = [number for number, values in enumerate(groups.values()) if method in values]
        estimates = [values[method] for values in groups.values() if method in values]
        means = [one.mean for one in estimates]
        # matplotlib rejects negative errors, so a mean outside its own interval gets none.
        errors = [
            [max(0.0, one.mean - one.low) for one in estimates],
            [max(0.0, one.high - one.mean) for one in estimates],
        ]
        axes.bar(
            [number + (place - (len(methods) - 1) / 2) * width for number in there],
            means,
            width * 0.9,
            yerr=errors,
            color=COLOURS[place % len(COLOURS)],
            edgecolor=INK if method == highlight else "none",
            alpha=1 if method == highlight or not highlight else 0.6,
            error_kw={"linewidth": 0.7, "ecolor": INK},
            label=method,
        )
    axes.set_xticks(range(len(groups)), list(groups))


def _targets(path: Path) -> list[Path]:
    if not path.suffix:
        return [path.with_suffix(suffix) for suffix in SUFFIXES]
    if path.suffix not in SUFFIXES:
        raise InputError(f"Cannot save a plot as {path.name}; use {' or '.join(SUFFIXES)}.")
    return [path]


@contextmanager
def _matplotlib() -> "Iterator[None]":
    try:
        yield
    except ImportError as error:
        raise InputError(
            "Plots need matplotlib, which is not installed; run `pip install 'halo-weave[plots]'`."
        ) from error
