"""Does brightness know what to keep? The model reads conversations; questions reveal what should have been kept."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench import plots
from halo_weave.bench.cached_reader import CachedReader
from halo_weave.bench.conversations import Question, read_conversations
from halo_weave.bench.keep import life as keep_life
from halo_weave.bench.keep import looking, ranking
from halo_weave.bench.keep import plots as keep_plots
from halo_weave.bench.keep.attention_cache import AttentionCache, Recording
from halo_weave.bench.keep.feeding import FedConversation, feed_all
from halo_weave.bench.keep.figures import SHARES, KeepOutcome, summary
from halo_weave.bench.keep.looking import Looks, looks_of
from halo_weave.bench.keep.ranking import ChunkValues
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.reader.choice import open_reader
from halo_weave.engine.reader.protocol import Reader
from halo_weave.errors import InputError
from halo_weave.paths import cache_folder
from halo_weave.weave import pruning
from halo_weave.weave.brightness import NEW_BRIGHTNESS, make_scorer

CURVE = (10, 20, 25, 30, 40, 50, 60, 70, 80, 90)
KeptMask = NDArray[np.bool_]


class KeepQuestion(msgspec.Struct, frozen=True):
    """A question with the chunks of its conversation that hold evidence."""

    question: Question
    conversation: int
    evidence: NDArray[np.int64]


class MeasuredKeeping(NamedTuple):
    """The results for a file; `orders`, `ablated` and `added` name what was measured besides the controls."""

    outcome: KeepOutcome
    orders: tuple[str, ...]
    ablated: tuple[str, ...]
    added: tuple[str, ...]
    fading: keep_plots.Fading


class Recorded(NamedTuple):
    """How the attention of a conversation is found: while the model writes, and while the reader reads; None if that
    is left out."""

    writing: Callable[[FedConversation], Recording] | None
    reading: Callable[[FedConversation], Looks] | None


def run(
    settings: Settings,
    data: Path,
    *,
    tokens: int | None = None,
    details: Path | None = None,
    plot: Path | None = None,
    with_model: bool = True,
    on_progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Feed up to `tokens` of each conversation (None: the context size in the settings) and return the figures.

    Unless it is `with_model`, the model reads nothing, and all chunks are equally bright.
    """
    if plot is not None:
        plots.require_plots(plot)
    if not with_model and settings.weave.keeps_by == "brightness":
        raise InputError("weave.keeps_by is brightness, which cannot be measured without the model.")
    conversations = read_conversations(data)
    context_tokens = settings.engine.context_tokens if tokens is None else tokens
    with closing(open_engine(msgspec.structs.replace(settings.engine, context_tokens=context_tokens))) as engine:
        limit = engine.facts.usable_context
        fed = feed_all(engine, conversations, settings.chat.system_prompt, limit)
        asked = questions_of(fed, conversations.questions)
        if not asked:
            raise InputError(f"No conversation in {data} has evidence within its first {limit} tokens.")
        cache = AttentionCache(cache_folder() / "bench-attention", engine)
        with _opened_reader(settings) as reader:
            recorded = Recorded(
                (lambda one: cache.recording(one, on_progress)) if with_model else None,
                None if reader is None else lambda one: looks_of(reader, one),
            )
            measured = measure_all(settings, fed, asked, recorded, on_progress)
        on_progress("whole conversations")
        whole = feed_all(engine, conversations, settings.chat.system_prompt, sys.maxsize)
        budget = settings.weave.budget(limit)
        recent_tokens = settings.weave.recent_tokens(budget)
        life = keep_life.measure(whole, conversations.questions, budget=budget, recent_tokens=recent_tokens)
    default = default_order(settings)
    if details is not None:
        write_details(details, asked, fed, measured.outcome, (*measured.orders, *ranking.CONTROLS))
    if plot is not None:
        compared = dict.fromkeys((*measured.orders[1:2], *ranking.CONTROLS, default))
        curves = {name: measured.outcome.curve(name) for name in compared}
        plots.save(keep_plots.draw(curves, measured.fading, settings.brightness.scorer), plot)
    return {
        **summary(measured.outcome, default, measured.orders, measured.ablated, measured.added),
        "questions": len(asked),
        "conversations": len({one.conversation for one in asked}),
        "tokens": limit,
        "model": engine.facts.name,
        "life": life,
    }


def default_order(settings: Settings) -> str:
    return ranking.WORTH if settings.weave.keeps_by == "worth" else settings.brightness.scorer


@contextmanager
def _opened_reader(settings: Settings) -> Iterator[Reader | None]:
    if settings.reader.kind == "off":
        yield None
        return
    with closing(CachedReader(open_reader(settings.reader), cache_folder() / "bench-keys.db")) as reader:
        yield reader


def measure_all(
    settings: Settings,
    fed: Sequence[FedConversation],
    asked: Sequence[KeepQuestion],
    recorded: Recorded,
    on_progress: Progress = lambda _: None,
) -> MeasuredKeeping:
    """Measure conversation by conversation, skipping conversations without questions."""
    figures = MeasuredKeeping(KeepOutcome(), (), (), (), keep_plots.Fading())
    chance = np.random.default_rng(1)
    for place, conversation in enumerate(fed):
        here = [one for one in asked if one.conversation == place]
        if not here:
            continue
        on_progress(f"conversation {place + 1} of {len(fed)}: {len(conversation.token_ids)} tokens")
        own = np.full(len(conversation.chunks), NEW_BRIGHTNESS)
        peaks: dict[str, ChunkValues] = {}
        if recorded.writing is not None:
            recording = recorded.writing(conversation)
            peaks = ranking.scored(settings.brightness, conversation, recording)
            own = peaks[settings.brightness.scorer]
            evidence = np.unique(np.concatenate([one.evidence for one in here]))
            moments = ranking.moments(make_scorer(settings.brightness), conversation, recording)
            figures.fading.add(moments, evidence, conversation)
        looked_at = {} if recorded.reading is None else looking.orders(recorded.reading(conversation))
        scores = {**peaks, **looked_at}
        orders = {ranking.WORTH: ranking.worths(conversation, own), **scores}
        ablated, added = ranking.ablated(conversation, own), ranking.added(conversation, scores)
        alone = {name: [order] for name, order in (*orders.items(), *ablated.items(), *added.items())}
        measure(figures.outcome, conversation, here, alone | ranking.controls(conversation, chance))
        measure_pruned(figures.outcome, conversation, here, orders[default_order(settings)])
        figures = figures._replace(orders=tuple(orders), ablated=tuple(ablated), added=tuple(added))
    return figures


def questions_of(fed: Sequence[FedConversation], questions: Sequence[Question]) -> list[KeepQuestion]:
    """Return the questions with any evidence that was fed; what was not fed cannot be kept and does not count."""
    places = {conversation.name: place for place, conversation in enumerate(fed)}
    asked = []
    for question in questions:
        place = places.get(question.conversation)
        if place is not None and len(evidence := fed[place].evidence(question)):
            asked.append(KeepQuestion(question, place, evidence))
    return asked


def kept(values: ChunkValues, sizes: NDArray[np.int64], share: float) -> KeptMask:
    """Keep the highest-valued chunks within `share` percent of the tokens, skipping any that no longer fit.

    Among equals the newest is kept, as in pruning.
    """
    budget, used = share / 100 * sizes.sum(), 0
    chosen = np.zeros(len(sizes), dtype=bool)
    for place in np.lexsort((-np.arange(len(sizes)), -values)):
        if used + sizes[place] <= budget:
            chosen[place] = True
            used += sizes[place]
    return chosen


def measure(
    outcome: KeepOutcome,
    fed: FedConversation,
    asked: Sequence[KeepQuestion],
    orders: Mapping[str, Sequence[ChunkValues]],
) -> None:
    """Record the evidence kept by each order; an order with several variants counts with their mean."""
    sizes = fed.sizes
    for name, variants in orders.items():
        for share in sorted({*SHARES, *CURVE}):
            contexts = [kept(values, sizes, share) for values in variants]
            for one in asked:
                outcome.add(name, share, float(np.mean([survived(one, sizes, context) for context in contexts])))


def measure_pruned(
    outcome: KeepOutcome, fed: FedConversation, asked: Sequence[KeepQuestion], values: ChunkValues
) -> None:
    """Measure the same under the rules of pruning, by which a living chunk keeps its anchors."""
    sizes, chunks = fed.sizes, fed.living(range(len(fed.chunks)), values)
    places = {chunk.key: place for place, chunk in enumerate(chunks)}
    for share in SHARES:
        plan = pruning.plan(chunks, budget=max(1, math.floor(share / 100 * sizes.sum())))
        context = np.ones(len(sizes), dtype=bool)
        context[[places[burial.key] for burial in plan.burials]] = False
        for one in asked:
            outcome.add("pruned", share, survived(one, sizes, context))


def survived(asked: KeepQuestion, sizes: NDArray[np.int64], context: KeptMask) -> float:
    """Return the percentage of the evidence's tokens that were kept."""
    own = sizes[asked.evidence]
    return float(100 * own[context[asked.evidence]].sum() / own.sum())


def write_details(
    path: Path,
    asked: Sequence[KeepQuestion],
    fed: Sequence[FedConversation],
    outcome: KeepOutcome,
    names: Sequence[str],
) -> None:
    """Write one JSON object per line for each question."""
    # The outcome lists questions conversation by conversation.
    ordered = sorted(asked, key=lambda one: one.conversation)
    try:
        with path.open("wb") as file:
            for number, one in enumerate(ordered):
                row = {
                    "conversation": one.question.conversation,
                    "question": one.question.text,
                    "category": one.question.category,
                    "evidence_tokens": int(fed[one.conversation].sizes[one.evidence].sum()),
                    "kept": {
                        name: {str(share): round(outcome.of(name, share)[number], 2) for share in SHARES}
                        for name in names
                    },
                }
                file.write(msgspec.json.encode(row) + b"\n")
    except OSError as error:
        raise InputError(f"Cannot write the details to {path}: {error.strerror}.") from error
