"""Does the whole thing help? Policies with the same budget live through the same chats and get the same questions.

Each conversation's last part passes through a window turn by turn, then its questions are asked. What counts is how
much of the evidence stands in the context, how likely the model thinks the right answer, and what had to be decoded.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halo_weave.bench import plots, policies_figures
from halo_weave.bench.conversations import Conversations, Question, read_conversations
from halo_weave.bench.policies_asking import Asking, Workshop
from halo_weave.bench.policies_kept import KeptOutcomes, Outcome, code_in_use, digest_of, settings_in_use
from halo_weave.bench.policies_stream import open_stream_memory, remember
from halo_weave.bench.recall import Progress
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.errors import InputError
from halo_weave.paths import cache_folder

BUDGETS = (512, 1024, 2048)
QUESTIONS = 20
REPLAYED_TOKENS = 4096


class Choice(NamedTuple):
    """`questions` is how many are asked the model itself; all count for the evidence."""

    budgets: Sequence[int] = BUDGETS
    questions: int = QUESTIONS
    replayed: int = REPLAYED_TOKENS


def run(
    settings: Settings,
    data: Path,
    choice: Choice,
    *,
    details: Path | None = None,
    plot: Path | None = None,
    on_progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """The figures; `details` takes a line for each question, `plot` a picture."""
    if plot is not None:
        plots.require_plots(plot)
    measured = measure(settings, data, choice, on_progress)
    figures = policies_figures.figures(measured)
    if details is not None:
        write_lines(details, policies_figures.details(measured))
    if plot is not None:
        panels = {"evidence in context, %": "evidence", "gap closed, %": "gap_closed"}
        drawn = {title: policies_figures.estimates(figures, name) for title, name in panels.items()}
        plots.save(plots.side_by_side(drawn, policies_figures.TITLES[policies_figures.HALO]), plot)
    return figures


def measure(
    settings: Settings, data: Path, choice: Choice, on_progress: Progress = lambda _: None
) -> policies_figures.Measured:
    if settings.engine.kind != "llamacpp":
        raise InputError(f"The engine {settings.engine.kind} runs elsewhere; only llamacpp can be measured here.")
    conversations = read_conversations(data)
    sampled = sample(conversations, choice.questions)
    with ExitStack() as stack:
        kept = stack.enter_context(
            closing(
                KeptOutcomes(
                    cache_folder() / "bench-policies.db",
                    code_in_use(),
                    settings_in_use(settings),
                    digest_of(data),
                    choice.replayed,
                    sorted(sampled),
                )
            )
        )
        asking: Asking | None = None
        outcomes: dict[tuple[str, str, int], Outcome] = {}
        for conversation, policy, budget in _jobs(conversations, choice.budgets):
            outcome = kept.get(conversation, policy, budget)
            if outcome is None:
                if asking is None:
                    asking = _open(settings, conversations, choice, sampled, stack, on_progress)
                on_progress(f"{conversation}: {policy}{f', {budget} tokens' if budget else ''}")
                for name, found in asking.outcomes(conversation, policy, budget).items():
                    kept.put(found, conversation, name, budget)
                    outcomes[conversation, name, budget] = found
            else:
                outcomes[conversation, policy, budget] = outcome
    return policies_figures.Measured(
        circumstances={
            "data": data.name.partition(".")[0],
            "model": settings.engine.model or "bundled",
            "scorer": settings.brightness.scorer,
            "keeps_by": settings.weave.keeps_by,
            "living_share": settings.weave.budget_share,
            "replayed_tokens": choice.replayed,
            "conversations": len({name for name, _, _ in outcomes}),
        },
        questions=conversations.questions,
        budgets=tuple(choice.budgets),
        outcomes=outcomes,
    )


def write_lines(path: Path, lines: Iterable[Any]) -> None:
    try:
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    except OSError as error:
        raise InputError(f"The details cannot be written to {path}: {error.strerror}.") from error


def sample(conversations: Conversations, count: int) -> frozenset[int]:
    """The numbers of questions spread evenly over all that have an answer and evidence."""
    there = {(turn.conversation, turn.id) for turn in conversations.turns}
    answerable = [number for number, question in enumerate(conversations.questions) if _is_answerable(question, there)]
    places = np.linspace(0, len(answerable) - 1, min(count, len(answerable))).round().astype(int)
    return frozenset(answerable[place] for place in places)


def _is_answerable(question: Question, there: set[tuple[str, str]]) -> bool:
    has_answer = question.answer is not None and str(question.answer).strip() != ""
    return has_answer and any((question.conversation, turn) in there for turn in question.evidence)


def _jobs(conversations: Conversations, budgets: Sequence[int]) -> Iterator[tuple[str, str, int]]:
    """Conversations with questions, under each policy and budget; the ceiling has none."""
    names = {question.conversation for question in conversations.questions if question.evidence}
    for conversation in dict.fromkeys(turn.conversation for turn in conversations.turns):
        if conversation in names:
            yield from ((conversation, policy, budget) for budget in budgets for policy in policies_figures.BUDGETED)
            yield conversation, policies_figures.CEILING, 0


def _open(
    settings: Settings,
    conversations: Conversations,
    choice: Choice,
    sampled: frozenset[int],
    stack: ExitStack,
    on_progress: Progress,
) -> Asking:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
    engine = stack.enter_context(closing(LlamaEngine(settings.engine)))
    abilities = engine.facts.abilities
    for ability in (abilities.editing, abilities.attention):
        if not ability.available:
            raise InputError(f"The model cannot be measured: {ability.why_not}.")
    memory = stack.enter_context(closing(open_stream_memory(folder, settings, on_progress)))
    on_progress(f"remembering {len(conversations.turns)} turns")
    chats = remember(memory, engine, conversations, choice.replayed, on_progress)
    workshop = Workshop(engine, memory, settings.window, engine.open_context(attention=None))
    return Asking(workshop, {chat.name: chat for chat in chats}, sampled)
