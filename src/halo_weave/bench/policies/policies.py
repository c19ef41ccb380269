"""Does the whole thing help? Policies with the same budget go through the same chats and answer the same questions.

The last part of each conversation passes through a window turn by turn; then its questions are asked. The figures are
how much of the evidence is in the context, how likely the model considers the right answer, and how many tokens had to
be decoded.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halo_weave.bench import plots
from halo_weave.bench.conversations import Conversations, Question, read_conversations
from halo_weave.bench.policies import figures as policies_figures
from halo_weave.bench.policies.outcomes import KeptOutcomes, code_in_use, digest_of, settings_in_use
from halo_weave.bench.policies.pace import Pace, in_words, longest_first
from halo_weave.bench.policies.workers import PolicyRun, measured, with_own_threads
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.paths import cache_folder
from halo_weave.weave.settings import BUDGET_SHARE

BUDGETS = (512, 1024, 2048)
QUESTIONS = 20
REPLAYED_TOKENS = 4096


class Choice(NamedTuple):
    """What to measure.

    `questions` is how many are put to the model itself; all count for the evidence. Each process has its own model.
    `chats` is how many conversations are replayed and asked about, 0 for all; the memory holds all of them. The model
    is asked at the budgets `put_at`, or at all budgets if that is empty.
    """

    budgets: Sequence[int] = BUDGETS
    questions: int = QUESTIONS
    replayed: int = REPLAYED_TOKENS
    processes: int = 1
    chats: int = 0
    put_at: Sequence[int] = ()


def run(
    settings: Settings,
    data: Path,
    choice: Choice,
    *,
    details: Path | None = None,
    plot: Path | None = None,
    on_progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Return the figures. `details` is a file for a line per question, `plot` one for a picture."""
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
) -> policies_figures.MeasuredPolicies:
    if settings.engine.kind != "llamacpp":
        raise InputError(f"The engine {settings.engine.kind} runs outside this process; only llamacpp can be measured.")
    settings = with_own_threads(settings, choice.processes)
    conversations = read_conversations(data)
    chats = chosen_chats(conversations, choice.chats)
    sampled = sample(conversations, chats, choice.questions)
    jobs = list(_jobs(chats, choice))
    with closing(
        KeptOutcomes(
            cache_folder() / "bench-policies.db",
            code_in_use(),
            settings_in_use(settings),
            digest_of(data),
            choice.replayed,
            sorted(sampled),
        )
    ) as kept:
        missing = [_measured_by(job) for job in jobs if kept.get(*job) is None]
        _measure(settings, conversations, choice, sampled, list(dict.fromkeys(missing)), kept, on_progress)
        # In the order of the jobs, not of their completion, because resamples are drawn by index.
        outcomes = {
            (job.conversation, job.policy, job.budget): outcome
            for job in jobs
            if (outcome := kept.get(*job)) is not None
        }
    return policies_figures.MeasuredPolicies(
        circumstances={
            "data": data.name.partition(".")[0],
            "model": settings.engine.model or "bundled",
            "scorer": settings.brightness.scorer,
            "keeps_by": settings.weave.keeps_by,
            "living_share": BUDGET_SHARE,
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
        raise InputError(f"Cannot write the details to {path}: {error.strerror}.") from error


def chosen_chats(conversations: Conversations, count: int) -> list[str]:
    """Return `count` chats spread evenly over those that have questions with evidence, in order; 0 means all."""
    asked = {question.conversation for question in conversations.questions if question.evidence}
    names = [name for name in dict.fromkeys(turn.conversation for turn in conversations.turns) if name in asked]
    return [names[place] for place in spread(len(names), count or len(names))]


def sample(conversations: Conversations, chats: Collection[str], count: int) -> frozenset[int]:
    """Return the numbers of `count` questions with an answer and evidence, spread evenly over these chats."""
    there = {(turn.conversation, turn.id) for turn in conversations.turns if turn.conversation in chats}
    answerable = [number for number, question in enumerate(conversations.questions) if _is_answerable(question, there)]
    return frozenset(answerable[place] for place in spread(len(answerable), count))


def spread(total: int, count: int) -> list[int]:
    """Return `count` places spread evenly over a list of this length."""
    places: list[int] = np.linspace(0, total - 1, min(count, total)).round().astype(int).tolist()
    return places


def _is_answerable(question: Question, there: set[tuple[str, str]]) -> bool:
    has_answer = question.answer is not None and str(question.answer).strip() != ""
    return has_answer and any((question.conversation, turn) in there for turn in question.evidence)


def _jobs(chats: Iterable[str], choice: Choice) -> Iterator[PolicyRun]:
    """Yield a job for each chat, policy and budget; the ceiling has no budget."""
    put_at = (choice.put_at or choice.budgets) if choice.questions else ()
    left_out = () if choice.questions else policies_figures.NEED_MODEL
    policies = [policy for policy in policies_figures.BUDGETED if policy not in left_out]
    for chat in chats:
        for budget in choice.budgets:
            yield from (PolicyRun(chat, policy, budget, budget in put_at) for policy in policies)
        yield PolicyRun(chat, policies_figures.CEILING, 0, puts=True)


def _measured_by(job: PolicyRun) -> PolicyRun:
    """Return the job that measures this one: rereading uses the context that Halo Weave has chosen."""
    return job._replace(policy=policies_figures.HALO) if job.policy == policies_figures.REREAD else job


def _measure(
    settings: Settings,
    conversations: Conversations,
    choice: Choice,
    sampled: frozenset[int],
    jobs: Sequence[PolicyRun],
    kept: KeptOutcomes,
    on_progress: Progress,
) -> None:
    """Run the jobs, and save the outcome of each as soon as it is known."""
    if not jobs:
        return
    asked = Counter(question.conversation for question in conversations.questions if question.evidence)
    put = Counter(conversations.questions[number].conversation for number in sampled)
    pace = Pace(jobs, asked=asked, put=put, replayed=choice.replayed, context=settings.engine.context_tokens)
    processes = min(choice.processes, len(jobs))
    ordered = jobs if processes == 1 else longest_first(jobs, pace)
    seconds_put = 0.0
    for job, found in measured(
        settings, conversations, choice.replayed, sampled, ordered, processes=processes, on_progress=on_progress
    ):
        for policy, outcome in found.outcomes.items():
            kept.put(outcome, *job._replace(policy=policy))
        seconds_put += found.seconds_put
        on_progress(pace.done(job))
    if sampled:
        on_progress(f"the model spent {in_words(seconds_put)} on {len(sampled)} questions")
