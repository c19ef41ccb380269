"""Runs jobs one after another in this process, or in parallel in processes with a model each.

A small model gains little from a second thread, because it reads short texts; a second process uses a core fully.
"""

import multiprocessing
import os
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from halo_weave.bench.conversations import Conversations
from halo_weave.bench.policies.asking import Asking, FoundEvidence, Workshop
from halo_weave.bench.policies.stream import StreamedChat, open_stream_memory, remember
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.llamacpp.library import default_threads
from halo_weave.errors import InputError

_FOLDER_PREFIX = "halo-bench-"


class PolicyRun(NamedTuple):
    """A job. The ceiling's budget is 0. `puts` tells whether questions are put to the model itself."""

    conversation: str
    policy: str
    budget: int
    puts: bool

    def __str__(self) -> str:
        return f"{self.conversation}: {self.policy}{f', {self.budget} tokens' if self.budget else ''}"


class WorkerStream(NamedTuple):
    """What a worker process needs to know; `sampled` are the numbers of the questions put to the model itself."""

    settings: Settings
    chats: Sequence[StreamedChat]
    sampled: Collection[int]


def with_own_threads(settings: Settings, processes: int) -> Settings:
    """Return settings with the number of threads for each process's model."""
    threads = settings.engine.threads or max(1, default_threads() // processes)
    return msgspec.structs.replace(settings, engine=msgspec.structs.replace(settings.engine, threads=threads))


def measured(
    settings: Settings,
    conversations: Conversations,
    replayed: int,
    sampled: Collection[int],
    jobs: Sequence[PolicyRun],
    *,
    processes: int,
    on_progress: Progress,
) -> Iterator[tuple[PolicyRun, FoundEvidence]]:
    """Yield each job with its result as soon as it is done."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=_FOLDER_PREFIX)))
        stream = WorkerStream(settings, remembered(folder, settings, conversations, replayed, on_progress), sampled)
        if processes == 1:
            asking = _open(folder, stream, stack)
            yield from ((job, asking.found(*job)) for job in jobs)
            return
        # Spawn rather than fork: a fork would inherit locks held by threads that it does not have.
        pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start, (folder, stream))
        try:
            futures = [pool.submit(_work, batch) for batch in batches(jobs, is_model_asked=bool(sampled))]
            for future in as_completed(futures):
                yield from future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def batches(jobs: Sequence[PolicyRun], *, is_model_asked: bool) -> list[list[PolicyRun]]:
    """Return the jobs that one process should do in a row.

    Most of the time goes into the model's reading, if it is asked, and otherwise into searches. All policies search for
    the same texts of a conversation, and a process searches for each text once.
    """
    if is_model_asked:
        return [[job] for job in jobs]
    names = dict.fromkeys(job.conversation for job in jobs)
    return [[job for job in jobs if job.conversation == name] for name in names]


def remembered(
    folder: Path, settings: Settings, conversations: Conversations, replayed: int, on_progress: Progress
) -> list[StreamedChat]:
    """Write all conversations to a memory in this folder, and return them as chats."""
    with closing(LlamaEngine(settings.engine)) as engine:
        abilities = engine.facts.abilities
        for ability in (abilities.editing, abilities.attention):
            if not ability.available:
                raise InputError(f"The model cannot be measured: {ability.why_not}.")
        with closing(open_stream_memory(folder, settings, on_progress)) as memory:
            on_progress(f"remembering {len(conversations.turns)} turns")
            return remember(memory, engine, conversations, replayed, on_progress)


def _open(folder: Path, stream: WorkerStream, stack: ExitStack) -> Asking:
    settings, chats, sampled = stream
    engine = stack.enter_context(closing(LlamaEngine(settings.engine)))
    memory = stack.enter_context(closing(open_stream_memory(folder, settings, lambda _: None)))
    memory.get_ready(next(said.text for chat in chats for said in chat.tail))
    # No flash attention: with it, likelihoods would depend on the number of threads, and Halo Weave's context has none.
    reading = engine.open_context(attention=None, flash_attention=False)
    workshop = Workshop(engine, memory, settings.window, reading)
    return Asking(workshop, {chat.name: chat for chat in chats}, sampled)


_asking: Asking
"""Set in each worker process."""


def _start(folder: Path, stream: WorkerStream) -> None:
    global _asking
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _asking = _open(folder, stream, ExitStack())


def _end_with_parent() -> None:
    """Exit when the parent does, because a killed parent cannot stop its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(jobs: Sequence[PolicyRun]) -> list[tuple[PolicyRun, FoundEvidence]]:
    return [(job, _asking.found(*job)) for job in jobs]
