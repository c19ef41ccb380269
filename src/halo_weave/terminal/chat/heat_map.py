"""The living context as a heat map: each token is coloured by how its brightness ranks among all living tokens."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted, local_time
from halo_weave.weave.context import LiveChunk

RESET, _DIM = "\x1b[0m", "\x1b[2m"
MARKS = "▁▂▃▄▅▆▇█"
"""Marks for terminals without colours: each precedes the text of its level, dimmest first."""


class _Shade(NamedTuple):
    """Two of a terminal's 256 colours."""

    foreground: int
    background: int

    def __str__(self) -> str:
        return f"\x1b[38;5;{self.foreground};48;5;{self.background}m"


_SHADES = tuple(
    _Shade(*pair)
    for pair in ((242, 233), (248, 235), (252, 53), (255, 89), (255, 125), (255, 166), (16, 214), (16, 226))
)


def heat_map(chunks: Sequence[LiveChunk], buried: Sequence[int], *, has_colours: bool) -> Iterator[str]:
    """Yield a legend, then each chunk under its name, with the number of buried chunks in each gap.

    `buried` holds the number of buried chunks before each chunk, and after the last.
    """
    brightness = np.concatenate([chunk.brightness for chunk in chunks]) if chunks else np.empty(0, dtype=np.float32)
    if chunks:
        yield _legend(brightness, has_colours=has_colours)
    all_levels, start = levels(brightness), 0
    for chunk, count in zip(chunks, buried[:-1], strict=True):
        yield from _gap(count, has_colours=has_colours)
        yield _styled(_headline(chunk), has_colours=has_colours)
        end = start + len(chunk.tokens)
        yield shaded([token.text for token in chunk.tokens], all_levels[start:end].tolist(), has_colours=has_colours)
        start = end
    yield from _gap(buried[-1], has_colours=has_colours)


def levels(brightness: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return a level per token, from 0 for the dimmest eighth to 7 for the brightest; ties get the brighter level."""
    if not len(brightness):
        return np.empty(0, dtype=np.int64)
    edges = np.quantile(brightness, np.arange(1, len(MARKS)) / len(MARKS))
    return np.searchsorted(edges, brightness, side="right").astype(np.int64)


def shaded(pieces: Sequence[str], piece_levels: Sequence[int], *, has_colours: bool) -> str:
    """Return text in which each run of one level has one colour or mark. A colour always ends with its line."""
    runs = []
    for level, run in groupby(zip(piece_levels, pieces, strict=True), key=lambda pair: pair[0]):
        text = output.harmless("".join(piece for _, piece in run))
        if has_colours:
            lines = (f"{_SHADES[level]}{line}{RESET}" if line else "" for line in text.split("\n"))
            runs.append("\n".join(lines))
        else:
            runs.append(f"{MARKS[level]}{text}")
    return "".join(runs)


def _headline(chunk: LiveChunk) -> str:
    facts = [str(chunk.key), local_time(chunk.time), f"peak {chunk.peak:,.0f}"]
    return " · ".join([*facts, *(["pinned"] if chunk.is_pinned else [])])


def _gap(count: int, *, has_colours: bool) -> Iterator[str]:
    if count:
        yield _styled(f"··· {counted(count, 'chunk')} archived ···", has_colours=has_colours)


def _legend(brightness: NDArray[np.float32], *, has_colours: bool) -> str:
    cells = [f"{shade}  {RESET}" for shade in _SHADES] if has_colours else MARKS
    return f"{brightness.min():,.0f} {''.join(cells)} {brightness.max():,.0f}"


def _styled(line: str, *, has_colours: bool) -> str:
    return f"{_DIM}{line}{RESET}" if has_colours else f"[{line}]"
