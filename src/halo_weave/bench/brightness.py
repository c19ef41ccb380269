"""Measures the cost of brightness: checking and scoring one step, alone and as a share of the model's own step."""

import time
from collections.abc import Iterator
from contextlib import closing
from statistics import median
from typing import Any, get_args

import msgspec
import numpy as np

from halo_weave.bench.progress import Progress
from halo_weave.bench.texts import TokenStream
from halo_weave.config import Settings
from halo_weave.engine import Engine, GenerationSettings
from halo_weave.engine.factory import open_engine
from halo_weave.errors import InputError
from halo_weave.weave.brightness import Scorer, ScorerName, ScorerSettings, Sight, State, make_scorer, problem

LIVING_TOKENS = 32_768
CONTEXT_TOKENS = 1000
STEPS = 500
MODEL_STEPS = 32
_SIGHTS = 16
"""More rows than the fastest CPU caches hold, because in real use the model has filled those with other data."""


def run(settings: Settings, on_progress: Progress = lambda _: None) -> dict[str, Any]:
    on_progress(f"scoring {STEPS} steps at {LIVING_TOKENS} tokens")
    step_ms = measure_scorers(settings.brightness, LIVING_TOKENS)
    with closing(open_engine(settings.engine)) as engine:
        on_progress(f"{engine.facts.name}: reading {CONTEXT_TOKENS} tokens")
        model_ms = measure_model(engine)
    chosen = settings.brightness.scorer
    score_ms = measure_scorers(settings.brightness, CONTEXT_TOKENS)[chosen]
    return {
        "scorer": chosen,
        "living_tokens": LIVING_TOKENS,
        "steps": STEPS,
        "step_ms_32k": step_ms[chosen],
        "scorers": {name: {"step_ms_32k": value} for name, value in step_ms.items()},
        "model_step_ms": model_ms,
        "share_of_step": score_ms / model_ms,
    }


def measure_scorers(settings: ScorerSettings, tokens: int) -> dict[str, float]:
    """Return each scorer's median time per step in ms. The scorers alternate, so a slow moment affects all alike."""
    sights = list(_sights(tokens))
    scorers = [make_scorer(msgspec.structs.replace(settings, scorer=name)) for name in get_args(ScorerName)]
    states = [scorer.fresh(tokens) for scorer in scorers]
    seconds: dict[str, list[float]] = {scorer.name: [] for scorer in scorers}
    for step in range(STEPS):
        for scorer, state in zip(scorers, states, strict=True):
            started = time.perf_counter()
            _step(scorer, state, sights[step % _SIGHTS])
            seconds[scorer.name].append(time.perf_counter() - started)
    return {name: median(values) * 1000 for name, values in seconds.items()}


def measure_model(engine: Engine) -> float:
    """Return the model's median time per step in ms, with attention on."""
    context = engine.open_context()
    with closing(context):
        context.sync(TokenStream(engine).take(CONTEXT_TOKENS))
        seconds: list[float] = []
        started = time.perf_counter()
        for _ in context.generate(GenerationSettings(temperature=0, max_tokens=MODEL_STEPS + 1)):
            seconds.append(time.perf_counter() - started)
            started = time.perf_counter()
    if len(seconds) < 2:
        raise InputError("The model ended its reply immediately; there is no step to measure.")
    return median(seconds[1:]) * 1000  # the sync computed the first step


def _step(scorer: Scorer, state: State, sight: Sight) -> None:
    if problem(sight.attention, state.shape[1]) is None:
        scorer.observe(state, sight)


def _sights(tokens: int) -> Iterator[Sight]:
    """Yield realistic made-up steps: the sink gets a quarter, most tokens little; prompt and frames are not scored."""
    chance = np.random.default_rng(1)
    place = np.arange(tokens)
    scored = (place >= min(64, tokens // 4)) & (place % 200 > 4)
    for _ in range(_SIGHTS):
        attention = chance.lognormal(sigma=2, size=tokens)
        attention[0] = attention[1:].sum() / 3
        yield Sight((attention / attention.sum()).astype(np.float32), scored)
