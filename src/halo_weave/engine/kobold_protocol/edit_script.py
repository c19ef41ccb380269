"""Encodes the difference between two contexts as an edit script.

A script is a list of edits [index in the old list, number of tokens to remove there, runs to insert there], in
ascending order. A run is [first position, ids] for tokens at consecutive positions. Positions are decimal strings,
because they have no upper limit and JSON numbers do.
"""

from collections.abc import Iterable, Sequence

from halo_weave.engine.difference import difference
from halo_weave.engine.protocol import Placed
from halo_weave.errors import InputError

Run = tuple[str, list[int]]
EditStep = tuple[int, int, list[Run]]

_MOST_DIGITS = 4000


def runs_of(tokens: Iterable[Placed]) -> list[Run]:
    runs: list[Run] = []
    follower = None
    for position, token_id in tokens:
        if position != follower:
            runs.append((str(position), []))
        runs[-1][1].append(token_id)
        follower = position + 1
    return runs


def tokens_of(runs: Iterable[Run]) -> list[Placed]:
    return [
        Placed(position, token_id) for first, ids in runs for position, token_id in enumerate(ids, read_position(first))
    ]


def read_position(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise InputError(f"A position must be a string of at most {_MOST_DIGITS} decimal digits, not {text[:40]!r}.")
    return int(text)


def script_between(old: Sequence[Placed], new: Sequence[Placed]) -> list[EditStep]:
    """Return the script that turns `old` into `new`; both are in ascending order of position."""
    changes = difference(old, new)
    edits: list[EditStep] = []
    old_end = new_end = 0
    for kept_old, kept_new, length in [*changes.kept, (len(old), len(new), 0)]:
        if kept_old > old_end or kept_new > new_end:
            edits.append((old_end, kept_old - old_end, runs_of(new[new_end:kept_new])))
        old_end, new_end = kept_old + length, kept_new + length
    return edits


def apply_script(old: Sequence[Placed], edits: Iterable[EditStep]) -> list[Placed]:
    """Apply a script to `old`. Raises InputError if it does not fit."""
    new: list[Placed] = []
    end = 0
    for index, remove_count, runs in edits:
        if index < end or remove_count < 0 or index + remove_count > len(old):
            raise InputError(
                f"The edit at {index} of {remove_count} tokens does not fit in a context of {len(old)} tokens."
            )
        new += old[end:index]
        new += tokens_of(runs)
        end = index + remove_count
    return [*new, *old[end:]]
