"""Schedules the requests of all clients on the one engine: in fair order, one call at a time, each abortable."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.kobold_protocol.wire import AbortRequest, RequestId
from halo_weave.errors import EngineStopped
from halo_weave.server.kobold.fair_queue import FairQueue, PlaceGivenUp

_T = TypeVar("_T")
_EARLY_ABORTS = 64


class ScheduledCall:
    """One client request, from queueing to completion.

    Aborting it ends the wait for a turn through `aborted`, and engine calls through `cancellation`.
    """

    def __init__(self, client: str, address: str, request_id: RequestId = None, context_id: str | None = None) -> None:
        self.client = client
        self.address = address
        self.request_id = request_id
        self.context_id = context_id
        self.text = ""
        self.cancellation = Cancellation()
        self.aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_aborted(self) -> bool:
        return self.aborted.done()

    def abort(self) -> None:
        if not self.aborted.done():
            self.aborted.set_result(None)
        self.cancellation.cancel()

    def is_meant_by(self, request: AbortRequest, address: str) -> bool:
        """Whether an abort request means this call. A request without any id means all calls from its address."""
        named = request.request_id if request.request_id is not None else request.genkey
        if named is not None:
            return self.request_id == named
        if request.context_id is not None:
            return self.context_id == request.context_id
        return self.address == address


class EngineScheduler:
    def __init__(self) -> None:
        self._queue = FairQueue()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine")
        self._jobs: list[ScheduledCall] = []
        # An abort can overtake its request, because the two use different connections.
        self._aborted_early: deque[RequestId] = deque(maxlen=_EARLY_ABORTS)

    @property
    def is_idle(self) -> bool:
        return not self._jobs

    @property
    def waiting(self) -> int:
        """Number of requests that wait for their turn."""
        return len(self._queue)

    @contextmanager
    def registered(self, job: ScheduledCall) -> Iterator[ScheduledCall]:
        """Make a call findable for aborting and inspection during the block."""
        self._jobs.append(job)
        if job.request_id is not None and job.request_id in self._aborted_early:
            job.abort()
        try:
            yield job
        finally:
            self._jobs.remove(job)

    @asynccontextmanager
    async def turn(self, job: ScheduledCall) -> AsyncIterator[None]:
        try:
            async with self._queue.turn(job.client, job.aborted):
                yield
        except PlaceGivenUp:
            raise EngineStopped("The request was cancelled before its turn came.") from None

    async def call(self, job: ScheduledCall, function: Callable[[], _T]) -> _T:
        """Run an engine call in the worker thread. An abort or a client that disconnects ends it within a token."""
        call = asyncio.get_running_loop().run_in_executor(self._executor, function)
        try:
            await asyncio.wait({call})
        finally:
            # The client disconnected. Keep the turn until the engine is done.
            if not call.done():
                job.abort()
                await asyncio.wait({call})
        return call.result()

    def abort(self, request: AbortRequest, address: str) -> bool:
        """Abort the matching calls; return False if there are none."""
        meant = self.find(request, address)
        for job in meant:
            job.abort()
        named = request.request_id if request.request_id is not None else request.genkey
        if not meant and named is not None:
            self._aborted_early.append(named)
        return bool(meant)

    def find(self, request: AbortRequest, address: str) -> list[ScheduledCall]:
        return [job for job in self._jobs if job.is_meant_by(request, address)]

    def close(self) -> None:
        for job in self._jobs:
            job.abort()
        self._executor.shutdown(wait=True)
