"""The latest status, windows and jobs for all tabs, computed and encoded once per change, however many tabs ask."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from halo_weave.server.api import status
from halo_weave.server.runtime.program import Program
from halo_weave.server.runtime.status_broadcast import NewsKind


class _Computation(NamedTuple):
    number: int
    """The number of the last change that the result includes."""
    result: "asyncio.Future[msgspec.Raw]"


class ProgramNews:
    """For use in one event loop only."""

    def __init__(self, program: Program, threads: ThreadPoolExecutor) -> None:
        self._bulletin = program.broadcast
        self._threads = threads
        self._newest: dict[NewsKind, _Computation] = {}
        self._compute: dict[NewsKind, Callable[[], object]] = {
            "status": lambda: status.status(program),
            "windows": lambda: status.windows(program),
            "jobs": program.jobs.all,
        }

    async def present(self, kind: NewsKind) -> msgspec.Raw:
        """The current value, for a new viewer; concurrent requests share one computation."""
        newest = self._newest.get(kind)
        if newest is None or newest.result.done() or newest.number < self._bulletin.number_of(kind):
            newest = self._begin(kind)
        return await asyncio.shield(newest.result)

    async def since_change(self, kind: NewsKind) -> msgspec.Raw:
        """The value as of the last broadcast change, or later."""
        newest = self._newest.get(kind)
        if newest is None or newest.number < self._bulletin.number_of(kind) or _has_failed(newest.result):
            newest = self._begin(kind)
        return await asyncio.shield(newest.result)

    def _begin(self, kind: NewsKind) -> _Computation:
        number, compute = self._bulletin.number_of(kind), self._compute[kind]
        result = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: msgspec.Raw(msgspec.json.encode(compute()))
        )
        self._newest[kind] = _Computation(number, result)
        return self._newest[kind]


def _has_failed(result: "asyncio.Future[msgspec.Raw]") -> bool:
    return result.done() and (result.cancelled() or result.exception() is not None)
