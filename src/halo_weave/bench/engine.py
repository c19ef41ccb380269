"""Measures the cost of attention and editing, and how far an edited context differs from a freshly read one.

All figures are ratios of interleaved measurements from one run, or distances between contexts of the same tokens.
"""

import random
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.progress import Progress
from halo_weave.bench.texts import TokenStream
from halo_weave.config import Settings
from halo_weave.engine import Attention, GenerationSettings, Placed, Step, SyncReport
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.errors import InputError

_Reply = Iterator[Step]

CONTEXT_TOKENS = 2000
MOVED_TOKENS = 200
STEPS = 32
CYCLES = 50
CYCLE_BUDGET = 1000
CHUNK_TOKENS = 100
PROBED_TOKENS = 8


def run(settings: Settings, repeats: int = 5, on_progress: Progress = lambda _: None) -> dict[str, object]:
    if settings.engine.kind != "llamacpp":
        raise InputError(f"The engine {settings.engine.kind} runs outside this process; only llamacpp can be measured.")
    engine = LlamaEngine(msgspec.structs.replace(settings.engine, context_tokens=4096))
    forgetful = LlamaEngine(msgspec.structs.replace(settings.engine, context_tokens=4096, kept_rows_mb=0))
    try:
        if not engine.facts.abilities.editing.available:
            raise InputError(f"The model cannot be measured: {engine.facts.abilities.editing.why_not}.")
        row_error = _RowError()
        return {
            "model": engine.facts.name,
            "library": engine.model.library.version,
            "repeats": repeats,
            **measure_capture(engine, repeats, row_error, on_progress),
            **measure_edits(engine, forgetful, repeats, on_progress),
            **measure_drift(engine, forgetful, CYCLES, row_error, on_progress),
            "attention_row_error": row_error.largest,
            "attention_rows": row_error.rows,
        }
    finally:
        engine.close()
        forgetful.close()


def measure_capture(engine: LlamaEngine, repeats: int, row_error: "_RowError", on_progress: Progress) -> dict[str, Any]:
    """Compare the time of a step with attention to one without, and to one with flash attention."""
    context_tokens = TokenStream(engine).take(CONTEXT_TOKENS)
    contexts = {
        "on": engine.open_context(),
        "off": engine.open_context(attention=None, flash_attention=False),
        "flash": engine.open_context(attention=None, flash_attention=True),
    }
    for name, context in contexts.items():
        on_progress(f"capture: reading {CONTEXT_TOKENS} tokens with attention {name}")
        context.sync(context_tokens)
    seconds: dict[str, list[float]] = {name: [] for name in contexts}
    for repeat in range(repeats):
        on_progress(f"capture: repeat {repeat + 1} of {repeats}")
        for context in contexts.values():
            context.sync(context_tokens)
        for name, steps in _step_seconds(contexts, row_error).items():
            seconds[name].append(median(steps))
    for context in contexts.values():
        context.close()
    return {
        "capture_overhead": median(on / off for on, off in zip(seconds["on"], seconds["off"], strict=True)),
        "capture_overhead_over_flash": median(
            on / flash for on, flash in zip(seconds["on"], seconds["flash"], strict=True)
        ),
        "step_ms": median(seconds["on"]) * 1000,
    }


def measure_edits(engine: LlamaEngine, forgetful: LlamaEngine, repeats: int, on_progress: Progress) -> dict[str, Any]:
    """Compare burying and resurrecting in the middle of a context to reading the same context again."""
    whole = TokenStream(engine).take(CONTEXT_TOKENS)
    middle = (CONTEXT_TOKENS - MOVED_TOKENS) // 2
    without = whole[:middle] + whole[middle + MOVED_TOKENS :]
    keeping, decoding, rereading = engine.open_context(), forgetful.open_context(), engine.open_context()
    on_progress(f"edits: reading {CONTEXT_TOKENS} tokens")
    keeping.sync(whole)
    decoding.sync(whole)
    ratios: dict[str, list[float]] = {"bury": [], "resurrect": [], "resurrect_kept": []}
    for repeat in range(repeats):
        on_progress(f"edits: repeat {repeat + 1} of {repeats}")
        reread_without = rereading.sync(without, clean=True).seconds
        buried = keeping.sync(without)
        restored = keeping.sync(whole)
        reread_whole = rereading.sync(whole, clean=True).seconds
        decoding.sync(without)
        decoded = decoding.sync(whole)
        _require(restored.restored == MOVED_TOKENS and decoded.decoded == MOVED_TOKENS + 1)
        ratios["bury"].append(reread_without / buried.seconds)
        ratios["resurrect"].append(reread_whole / decoded.seconds)
        ratios["resurrect_kept"].append(reread_whole / restored.seconds)
    for context in (keeping, decoding, rereading):
        context.close()
    return {f"{name}_speedup": median(values) for name, values in ratios.items()}


def measure_drift(
    engine: LlamaEngine, forgetful: LlamaEngine, cycles: int, row_error: "_RowError", on_progress: Progress
) -> dict[str, Any]:
    """Bury and resurrect chunks as a conversation goes on, and compare each cycle with a clean reading."""
    keeping, decoding, rereading = engine.open_context(), forgetful.open_context(), engine.open_context()
    drift = {"edit": _Drift(), "edit_decoded": _Drift()}
    decoded = new_or_resurrected = 0
    for number, (wanted, probe, returned) in enumerate(_cycles(engine, cycles)):
        on_progress(f"drift: cycle {number + 1} of {cycles}")
        reports = [keeping.sync(wanted), decoding.sync(wanted)]
        rereading.sync(wanted, clean=True)
        for length in range(PROBED_TOKENS):
            context_tokens = wanted + probe[:length]
            reports += [context.sync(context_tokens) for context in (keeping, decoding)]
            rereading.sync(context_tokens)
            drift["edit"].compare(keeping, rereading)
            drift["edit_decoded"].compare(decoding, rereading)
        row_error.add(_attention(keeping))
        decoded += _decoded(reports[::2])
        new_or_resurrected += returned + CHUNK_TOKENS
    for context in (keeping, decoding, rereading):
        context.close()
    return {
        "cycles": cycles,
        "tokens_decoded_per_turn_ratio": decoded / new_or_resurrected,
        **{f"{name}_{figure}": value for name, part in drift.items() for figure, value in part.figures().items()},
    }


def _cycles(engine: LlamaEngine, cycles: int) -> Iterator[tuple[list[Placed], list[Placed], int]]:
    """Yield each cycle's wanted context, the tokens that follow it, and how many tokens were resurrected.

    Each cycle adds a new chunk, brings back one or two buried ones, and buries others until the budget holds.
    """
    stream, chance = TokenStream(engine, seed=2), random.Random(3)
    living = [stream.take(CHUNK_TOKENS) for _ in range(CYCLE_BUDGET // CHUNK_TOKENS)]
    buried: list[list[Placed]] = []
    for _ in range(cycles):
        returning = chance.sample(buried, min(len(buried), chance.choice((1, 2))))
        buried = [chunk for chunk in buried if chunk not in returning]
        newest = stream.take(CHUNK_TOKENS)
        while len(living) + len(returning) + 1 > CYCLE_BUDGET // CHUNK_TOKENS:
            buried.append(living.pop(chance.randrange(1, len(living) - 1)))
        living = sorted([*living, *returning])
        split = CHUNK_TOKENS - PROBED_TOKENS
        wanted = [token for chunk in living for token in chunk] + newest[:split]
        yield wanted, newest[split:], len(returning) * CHUNK_TOKENS
        living.append(newest)


class _Drift:
    """Differences from a clean reading, in the distribution of the next token and in the attention behind it."""

    def __init__(self) -> None:
        self._divergences: list[float] = []
        self._agreements: list[bool] = []
        self._correlations: list[float] = []

    def compare(self, edited: LlamaContext, reread: LlamaContext) -> None:
        ours, theirs = _log_probabilities(edited.logits()), _log_probabilities(reread.logits())
        self._divergences.append(float(np.sum(np.exp(theirs) * (theirs - ours))))
        self._agreements.append(bool(ours.argmax() == theirs.argmax()))
        # Skip the first token: it outshines all others and would make any two rows look alike.
        rows = [np.log(_attention(context)[1:] + 1e-9) for context in (edited, reread)]
        self._correlations.append(float(np.corrcoef(*rows)[0, 1]))

    def figures(self) -> dict[str, float]:
        return {
            "kl": float(np.mean(self._divergences)),
            "kl_last_ten_cycles": float(np.mean(self._divergences[-10 * PROBED_TOKENS :])),
            "top1_agreement": float(np.mean(self._agreements)),
            "attention_correlation": float(np.mean(self._correlations)),
        }


class _RowError:
    """The largest deviation of a row's sum from 1."""

    def __init__(self) -> None:
        self.largest = 0.0
        self.rows = 0

    def add(self, attention: Attention) -> None:
        self.largest = max(self.largest, abs(float(attention.sum(dtype=np.float64)) - 1))
        self.rows += 1


def _step_seconds(contexts: dict[str, LlamaContext], row_error: _RowError) -> dict[str, list[float]]:
    """Time steps of all contexts in alternation, so that a slow moment affects all alike.

    The first step of each is not counted, because the preceding sync computed it.
    """
    settings = GenerationSettings(temperature=0, max_tokens=STEPS + 1)
    replies = {name: context.generate(settings) for name, context in contexts.items()}
    for steps in replies.values():
        next(steps)
    seconds: dict[str, list[float]] = {name: [] for name in contexts}
    for number in range(STEPS):
        for name, steps in _rotated(replies, number):
            started = time.perf_counter()
            step = next(steps, None)
            if step is None:
                continue
            seconds[name].append(time.perf_counter() - started)
            if step.attention is not None:
                row_error.add(step.attention)
    return seconds


def _attention(context: LlamaContext) -> Attention:
    attention = next(context.generate(GenerationSettings(temperature=0, max_tokens=1))).attention
    if attention is None:
        raise InputError("The model reports no attention to measure.")
    return attention


def _log_probabilities(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max()
    log_probabilities: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return log_probabilities


def _decoded(reports: list[SyncReport]) -> int:
    return sum(report.decoded for report in reports)


def _rotated(replies: dict[str, _Reply], by: int) -> list[tuple[str, _Reply]]:
    """Return the replies in rotated order, so that none is always measured first."""
    items = list(replies.items())
    by %= len(items)
    return items[by:] + items[:by]


def _require(holds: bool) -> None:
    if not holds:
        raise InputError("The engine did not perform the measured operation; the figures would be meaningless.")
