"""How long measuring will take: what the model reads for each job is roughly known, and how fast it reads is seen.

Rough is enough: the figures are those of LoCoMo, and only shares of the whole count.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from halo_weave.bench.policies.figures import CEILING, HALO
from halo_weave.bench.policies.workers import PolicyRun

_READ_BACK_PER_EXCHANGE = 0.25
"""Of the budget: what returns with a message and was not kept from before."""
_EXCHANGE_TOKENS = 70
_PLANNED = 1.5
"""Tokens that could be read in the time in which it is planned what returns for one question."""
_LIVING, _RETURNED = 0.5, 0.5


class Pace:
    """`asked` and `put`: how many questions of each conversation are asked, and how many of them the model itself."""

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
        """In tokens that the model could read meanwhile."""
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
        return self._replayed + returned + put * (1 + _RETURNED) * job.budget + 3 * planning

    def done(self, job: PolicyRun) -> str:
        """Count a job as done, and tell how far all of them are."""
        self._left.pop(job)
        left, seconds = sum(self._left.values()), self._clock() - self._started
        said = f"{self._jobs - len(self._left)} of {self._jobs}: {job}"
        return f"{said} · about {in_words(seconds * left / (self._total - left))} left" if left else said


def longest_first(jobs: Collection[PolicyRun], pace: Pace) -> Sequence[PolicyRun]:
    """So that at the end no process waits long for another."""
    return sorted(jobs, key=pace.cost, reverse=True)


def in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
