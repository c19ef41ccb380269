"""Measures what still lives after whole conversations have passed through a budget-sized context without resurrection.

No model is used, so all chunks are equally bright; otherwise the product's own rules decide what leaves.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from halo_weave.bench.conversations import Question
from halo_weave.bench.intervals import interval, paired_difference
from halo_weave.bench.keep.feeding import FedConversation
from halo_weave.bench.keep.ranking import WORTH, ChunkValues, without
from halo_weave.weave import pruning, worth
from halo_weave.weave.brightness import NEW_BRIGHTNESS
from halo_weave.weave.recent import recencies
from halo_weave.weave.worth import WorthInput

Order = Callable[[Sequence[WorthInput]], ChunkValues]
ORDERS: Mapping[str, Order] = {
    WORTH: worth.worths,
    **{f"without_{name}": partial(without, name) for name in worth.PARTS if name != "brightness"},
    # Random, but always the same for a given text.
    "random": lambda said: np.array([zlib.crc32("".join(one.texts).encode()) for one in said], dtype=np.float64),
    "fifo": lambda said: np.arange(len(said), dtype=np.float64),
    "user_first": lambda said: np.array([one.role == "user" for one in said], dtype=np.float64),
}


def measure(
    fed: Sequence[FedConversation], questions: Sequence[Question], *, budget: int, recent_tokens: int
) -> dict[str, Any]:
    """Return the percentage of evidence tokens that live at the end, over all questions with evidence."""
    living: dict[str, list[float]] = {name: [] for name in ORDERS}
    for conversation in fed:
        here = [one for one in questions if one.conversation == conversation.name]
        evidence = [places for one in here if len(places := conversation.evidence(one))]
        if not evidence:
            continue
        for name, order in ORDERS.items():
            tokens = conversation.sizes * living_after(conversation, order, budget=budget, recent_tokens=recent_tokens)
            living[name] += [
                float(100 * tokens[places].sum() / conversation.sizes[places].sum()) for places in evidence
            ]
    return {
        "budget": budget,
        "questions": len(living[WORTH]),
        "orders": {name: {"living": float(np.mean(values))} for name, values in living.items()},
        "intervals": {name: {"living": interval(values)} for name, values in living.items()},
        f"{WORTH}_ahead_of": {
            name: {"living": paired_difference(values, living[WORTH])}
            for name, values in living.items()
            if name != WORTH
        },
    }


def living_after(fed: FedConversation, order: Order, *, budget: int, recent_tokens: int) -> ChunkValues:
    """Return 1 for each chunk that lives at the end, 0 for others. Pruning runs after each exchange, as in a window."""
    alive: list[int] = []
    for _, exchange in groupby(range(len(fed.chunks)), lambda place: fed.exchange_of(fed.chunks[place].turn).start):
        alive = _pruned(fed, [*alive, *exchange], order, budget, recent_tokens)
    living = np.zeros(len(fed.chunks))
    living[alive] = 1.0
    return living


def _pruned(fed: FedConversation, alive: list[int], order: Order, budget: int, recent_tokens: int) -> list[int]:
    if sum(fed.chunks[place].tokens for place in alive) <= budget:
        return alive
    said = [WorthInput(fed.chunks[place].role, fed.chunks[place].texts, NEW_BRIGHTNESS) for place in alive]
    chunks = fed.living(alive, order(said))
    recent = recencies(chunks, recent_tokens)
    plan = pruning.plan([one._replace(recency=recent.get(one.key, 0.0)) for one in chunks], budget=budget)
    gone = {burial.key for burial in plan.burials}
    return [place for place, chunk in zip(alive, chunks, strict=True) if chunk.key not in gone]
