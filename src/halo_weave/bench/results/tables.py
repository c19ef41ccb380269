"""The tables of the results page: special ones for benchmarks that need them, a plain list for all others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from halo_weave.bench.peers import titles
from halo_weave.bench.policies.figures import TITLES


def in_words(value: Any, ends: Sequence[float] | None = None) -> str:
    """Format a figure for people, with its interval if there is one."""
    if value is None:
        return "–"
    if _is_sure(value):
        return in_words(value[0], value[1:])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).replace("|", "\\|")
    text = f"{value:,}" if isinstance(value, int) else _rounded(value)
    return text if ends is None else f"{text} [{_rounded(ends[0])}, {_rounded(ends[1])}]"


def tables_of(bench: str, figures: Mapping[str, Any]) -> Iterator[str]:
    match bench:
        case "policies":
            yield from _policies(figures)
        case _:
            yield from _plain(figures)


def summary_of(bench: str, figures: Mapping[str, Any]) -> str:
    """Return what another page shows of a result: one table that compares peers or policies, or else everything."""
    match bench:
        case "peers":
            lines = _peers(figures)
        case "policies":
            lines = _policies_in_one(figures)
        case _:
            lines = tables_of(bench, figures)
    return "\n".join(lines).strip("\n")


def _peers(figures: Mapping[str, Any]) -> Iterator[str]:
    yield f"{in_words(figures['questions'])} questions, {in_words(figures['chunks'])} chunks, with 95 % intervals:"
    rows = []
    for name, one in sorted(figures["peers"].items(), key=lambda peer: float(peer[1]["recall_at_10"])):
        title = titles.TITLES.get(name) or titles.PeerTitle(name, "–")
        found = (in_words(one[figure], one["intervals"][figure]) for figure in ("recall_at_10", "evidence_at_1024"))
        rows.append((*title, *found))
    yield from _table(("", "finds by", "recall@10", "evidence@1024"), rows)


def _plain(figures: Mapping[str, Any], name: str = "figure") -> Iterator[str]:
    """Yield a table of all plain values, then one for each group of figures."""
    intervals = figures.get("intervals") or {}
    yield from _table(
        (name, "value"), ((f"`{key}`", in_words(figures[key], intervals.get(key))) for key in _values(figures))
    )
    for key, group in _groups(figures).items():
        members = _groups(group)
        if members and not any(map(_groups, members.values())):
            yield from _grid(key, members, intervals)
            group = {one: group[one] for one in _values(group)}
        yield from _plain(group, f"`{key}`")


def _values(figures: Mapping[str, Any]) -> list[str]:
    """Return the names of values that fit into a table cell: numbers, text, and means with their intervals."""
    return [name for name, value in figures.items() if not isinstance(value, Mapping | list | tuple) or _is_sure(value)]


def _is_sure(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(one, int | float) for one in value)


def _groups(figures: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: one for name, one in figures.items() if isinstance(one, Mapping) and name != "intervals"}


def _grid(name: str, members: Mapping[str, Mapping[str, Any]], around: Mapping[str, Any]) -> Iterator[str]:
    """Yield members as rows and figures as columns. Intervals come from the member itself, or else from `around`."""
    columns = list(dict.fromkeys(column for one in members.values() for column in _values(one)))
    rows = []
    for member, one in members.items():
        named = around.get(member)
        intervals = one.get("intervals") or (named if isinstance(named, Mapping) else {})
        rows.append((f"`{member}`", *(in_words(one.get(column), intervals.get(column)) for column in columns)))
    yield from _table((f"`{name}`", *(f"`{column}`" for column in columns)), rows)


def _policies(figures: Mapping[str, Any]) -> Iterator[str]:
    circumstances = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in figures.items() if isinstance(value, str | int | float)
    )
    yield from ("", f"{circumstances[:1].upper()}{circumstances[1:]}.")
    for budget, policies in figures["budgets"].items():
        ahead_of = figures.get("ahead_of", {}).get(budget, {})
        rows = []
        for name, one in policies.items():
            intervals = one.get("intervals") or {}
            evidence, likelihood = (ahead_of.get(name, {}).get(key) for key in ("evidence", "log_likelihood"))
            rows.append(
                (
                    TITLES.get(name, name),
                    in_words(one["evidence"], intervals.get("evidence")),
                    "" if evidence is None else in_words(evidence[0], evidence[1:]),
                    in_words(one["gap_closed"], intervals.get("gap_closed")),
                    "" if likelihood is None else in_words(likelihood[0], likelihood[1:]),
                    in_words(one["decoded_per_turn"]),
                )
            )
        columns = ("evidence %", "h ahead by", "gap closed %", "h ahead by, nats per token", "decoded per turn")
        yield from _table((f"{budget} tokens", *columns), rows)
        if shares := figures.get("living_shares", {}).get(budget):
            yield from (
                "",
                f"Evidence of h at {budget} tokens, by the share of the budget left to living text at the question: "
                + ", ".join(f"{share}: {in_words(one['evidence'], one['interval'])}" for share, one in shares.items())
                + ".",
            )


def _policies_in_one(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a row per policy and a column per budget, each cell with the evidence and the tokens read per turn."""
    budgets = figures["budgets"]
    names = dict.fromkeys(name for policies in budgets.values() for name in policies)
    rows = []
    for name in names:
        ours = (policies[name] for policies in budgets.values() if name in policies)
        cells = (f"{in_words(one['evidence'])} ({in_words(one['decoded_per_turn'])})" for one in ours)
        rows.append((TITLES.get(name, name), *cells))
    yield from _table(("policy", *(f"{budget} tokens" for budget in budgets)), rows)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if lines:
        yield from ("", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *lines)


def _rounded(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
