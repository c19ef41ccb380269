"""Estimates the time left: from roughly how much the model reads for each job, and how fast the jobs so far went.

Rough figures, taken from LoCoMo, are enough, because only their proportions matter.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from halo_weave.bench.policies.figures import CEILING, HALO
from halo_weave.bench.policies.workers import PolicyRun

_READ_BACK_PER_EXCHANGE = 0.25
"""Share of the budget that returns with a message and has to be read again."""
_EXCHANGE_TOKENS = 70
_PLANNED = 1.5
"""Planning what returns for one question takes as long as reading this many tokens."""
_LIVING, _RETURNED = 0.5, 0.5


class Pace:
    """`asked` and `put` count the questions of each conversation: all of them, and those put to the model."""

    def __init__(
        self,
        jobs: Collection[PolicyRun],
        *,
        asked: Mapping[str, int],
        put: Mapping[str, int],
        replayed: int,
        context: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked, self._put = asked, put
        self._replayed, self._context = replayed, context
        self._clock = clock
        self._started = clock()
        self._jobs = len(jobs)
        self._left = {job: self.cost(job) for job in jobs}
        self._total = sum(self._left.values())

    def cost(self, job: PolicyRun) -> float:
        """Return the cost of a job, in tokens that the model could read in the same time."""
        put = self._put.get(job.conversation, 0) if job.puts else 0
        planning = _PLANNED * self._asked.get(job.conversation, 0)
        living = job.budget if put else 0
        match job.policy:
            case "fifo" | "sinks":
                return living + 1
            case "h2o":
                return self._replayed + living
            case "fifo_return" | "random_return":
                return _LIVING * living + put * _RETURNED * job.budget + planning
            case "rag_end" | "rag_time":
                return put * job.budget + planning
            case _ if job.policy == CEILING:
                return put * self._context + 1
        assert job.policy == HALO
        returned = _READ_BACK_PER_EXCHANGE * job.budget * self._replayed / _EXCHANGE_TOKENS
        read = self._replayed + returned if put else 0
        return read + put * (1 + _RETURNED) * job.budget + 3 * planning + 1

    def done(self, job: PolicyRun) -> str:
        """Mark a job as done, and return the progress in words."""
        self._left.pop(job)
        left, seconds = sum(self._left.values()), self._clock() - self._started
        said = f"{self._jobs - len(self._left)} of {self._jobs}: {job}"
        return f"{said} · about {in_words(seconds * left / (self._total - left))} left" if left else said


def longest_first(jobs: Collection[PolicyRun], pace: Pace) -> Sequence[PolicyRun]:
    """Sort jobs by falling cost, so that no process waits long for another at the end."""
    return sorted(jobs, key=pace.cost, reverse=True)


def in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
