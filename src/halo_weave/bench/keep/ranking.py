"""Orders in which to keep the chunks of a conversation: by scorer, by worth, and by simple controls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.keep.attention_cache import Recording
from halo_weave.bench.keep.feeding import FedConversation
from halo_weave.weave import worth
from halo_weave.weave.brightness import (
    NEW_BRIGHTNESS,
    Scorer,
    ScorerName,
    ScorerSettings,
    Sight,
    State,
    make_scorer,
    problem,
)
from halo_weave.weave.worth import WorthInput

ChunkValues = NDArray[np.float64]
"""One value per chunk. The largest are kept first; among equals, the newest."""

SHUFFLES = 20
CONTROLS = ("random", "fifo", "length", "user_first")
WORTH = "worth"
WEIGHTS = (0.1, 0.25, 0.5)
"""Weights with which each scorer is added to the other parts of the worth."""


class Moment(msgspec.Struct, frozen=True):
    """The chunks' brightness when a turn had been written; chunks from index `chunks` up did not exist yet."""

    place: int
    chunks: int
    peaks: ChunkValues


def scored(settings: ScorerSettings, fed: FedConversation, recording: Recording) -> dict[str, ChunkValues]:
    """Return each chunk's peak brightness, by scorer."""
    return {
        name: peaks_at_end(make_scorer(msgspec.structs.replace(settings, scorer=name)), fed, recording)
        for name in get_args(ScorerName)
    }


def worths(fed: FedConversation, peaks: ChunkValues) -> ChunkValues:
    return worth.worths(said_in(fed, peaks))


def ablated(fed: FedConversation, peaks: ChunkValues) -> dict[str, ChunkValues]:
    """Return each part of the worth alone, and the worth without each part."""
    said = said_in(fed, peaks)
    return {f"only_{name}": part(said) for name, part in worth.PARTS.items()} | {
        f"without_{name}": without(name, said) for name in worth.PARTS
    }


def without(name: str, said: Sequence[WorthInput]) -> ChunkValues:
    """Sum all parts but one. Subtracting one from the total would leave rounding errors that decide between equals."""
    return sum((part(said) for other, part in worth.PARTS.items() if other != name), np.zeros(len(said)))


def added(fed: FedConversation, scores: Mapping[str, ChunkValues]) -> dict[str, ChunkValues]:
    """Return the worth with each scorer in the place of its brightness, by several weights: does one earn a weight?"""
    others = without("brightness", said_in(fed, np.zeros(len(fed.chunks))))
    return {
        f"worth_with_{weight:g}_{name}": others + weight * worth.standing(worth.middle_ranks(values))
        for name, values in scores.items()
        for weight in WEIGHTS
    }


def controls(fed: FedConversation, chance: np.random.Generator) -> dict[str, list[ChunkValues]]:
    """Return the controls, with several orders for those that involve chance."""
    order = np.arange(len(fed.chunks), dtype=np.float64)
    by_user = np.array([chunk.role == "user" for chunk in fed.chunks], dtype=np.float64)
    return {
        "random": [chance.permutation(order) for _ in range(SHUFFLES)],
        "fifo": [order],
        "length": [fed.sizes.astype(np.float64)],
        "user_first": [by_user],
    }


def said_in(fed: FedConversation, peaks: ChunkValues) -> list[WorthInput]:
    return [WorthInput(chunk.role, chunk.texts, float(peak)) for chunk, peak in zip(fed.chunks, peaks, strict=True)]


def peaks_at_end(scorer: Scorer, fed: FedConversation, recording: Recording) -> ChunkValues:
    peaks = np.full(len(fed.chunks), NEW_BRIGHTNESS)
    for moment in moments(scorer, fed, recording):
        peaks = moment.peaks
    return peaks


def moments(scorer: Scorer, fed: FedConversation, recording: Recording) -> Iterator[Moment]:
    """Score a recording as a window would: the exchange in progress and the frames are not scored."""
    state: State = scorer.fresh(len(fed.token_ids))
    rows = iter(recording)
    for number, turn in enumerate(fed.turns):
        if turn.role != "assistant":
            continue
        scored = _scored(fed, number)
        for _ in range(turn.start - 1, turn.end):
            observer, attention = next(rows)
            if problem(attention, observer + 1) is None:
                sight = Sight(attention, scored[: observer + 1])
                scorer.observe(state[:, : observer + 1], sight)
        peaks = np.array([state[0, one.start : one.end].max() for one in fed.chunks], dtype=np.float64)
        yield Moment(turn.end, sum(chunk.start < turn.end for chunk in fed.chunks), peaks)


def _scored(fed: FedConversation, turn: int) -> NDArray[np.bool_]:
    scored = np.zeros(len(fed.token_ids), dtype=bool)
    under_way = fed.exchange_of(turn)
    for chunk in fed.chunks:
        scored[chunk.start : chunk.end] = chunk.turn < under_way.start
    return scored
