"""Measures whether the model repeats itself: longest and most frequent repeated phrase of its replies.

Short conversations are answered with each seed, once with the general defaults and once with the settings in use, which
include the model's own defaults. Seeds are fixed, so a second run on the same machine gives the same replies.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine import Engine, GenerationSettings, Placed, turns
from halo_weave.engine.factory import open_engine

CHATS = (
    (
        "Hello!",
        "My sister has her birthday on Friday. I bought her a little gift.",
        "What is the gift called?",
        "Tell me more about it.",
        "And what else?",
    ),
    ("I have a dog called Biscuit.", "What is my dog called?", "Write a long story about him.", "Go on."),
    ("hi", "hm", "ok", "and?", "more"),
)
SEEDS = (1, 2)
REPLY_TOKENS = 400
PHRASE_TOKENS = 6
_SYSTEM = "You are a helpful assistant."


class Repetition(NamedTuple):
    """`longest` is the length in tokens of the longest phrase that occurs twice; `most` is how often the most frequent
    phrase of PHRASE_TOKENS tokens occurs."""

    longest: int
    most: int


def run(settings: Settings, on_progress: Progress = lambda _: None) -> dict[str, Any]:
    with closing(open_engine(settings.engine)) as engine:
        compared = {
            "general_defaults": GenerationSettings(),
            "in_use": settings.for_model(engine.facts.name).generation,
        }
        figures: dict[str, Any] = {
            "model": engine.facts.name,
            "replies": sum(map(len, CHATS)) * len(SEEDS),
            "reply_tokens": REPLY_TOKENS,
        }
        for name, generation in compared.items():
            measured: list[Repetition] = []
            for number, chat in enumerate(CHATS, start=1):
                on_progress(f"{name}: conversation {number} of {len(CHATS)}")
                for seed in SEEDS:
                    measured += map(repetition, replies(engine, chat, generation, seed))
            figures[name] = _figures(generation, measured)
        return figures


def replies(engine: Engine, messages: Sequence[str], generation: GenerationSettings, seed: int) -> Iterator[list[int]]:
    """Yield the tokens of the model's replies in a new conversation with these messages."""
    bounded = msgspec.structs.replace(generation, seed=seed, max_tokens=REPLY_TOKENS)
    said = [token.id for token in (*turns.start_tokens(engine), *turns.turn_tokens(engine, "system", _SYSTEM))]
    closing_ids = [token.id for token in turns.closing_tokens(engine, "assistant")]
    with closing(engine.open_context(attention=None)) as context:
        for message in messages:
            asked = (*turns.turn_tokens(engine, "user", message), *turns.opening_tokens(engine, "assistant"))
            said += [token.id for token in asked]
            context.sync([Placed(position, token_id) for position, token_id in enumerate(said)])
            reply = [
                step.token_id
                for step in context.generate(bounded)
                if step.token_id is not None and step.finish_reason != "end"
            ]
            said += [*reply, *closing_ids]
            yield reply


def repetition(tokens: Sequence[int]) -> Repetition:
    phrases = Counter(tuple(tokens[at : at + PHRASE_TOKENS]) for at in range(len(tokens) - PHRASE_TOKENS + 1))
    return Repetition(_longest_repeat(tokens), max(phrases.values(), default=0))


def _longest_repeat(tokens: Sequence[int]) -> int:
    """Compare the reply with itself shifted by every distance, and return the longest run of equal tokens."""
    longest = 0
    for distance in range(1, len(tokens)):
        run_length = 0
        for earlier, later in zip(tokens, tokens[distance:], strict=False):
            run_length = run_length + 1 if earlier == later else 0
            longest = max(longest, run_length)
    return longest


def _figures(generation: GenerationSettings, measured: Sequence[Repetition]) -> dict[str, Any]:
    return {
        "repeat_penalty": generation.repeat_penalty,
        "phrase_penalty": generation.phrase_penalty,
        "longest_repeat_tokens": max(one.longest for one in measured),
        "most_repeats": max(one.most for one in measured),
        "replies_that_loop": sum(one.most > 3 for one in measured),
    }
