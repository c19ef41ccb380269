"""An abort, a disconnected client and a server shutdown each cancel the engine's call, whenever they come."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_protocol.wire import AbortRequest
from halo_weave.engine.protocol import GenerationSettings, Placed
from halo_weave.errors import EngineStopped
from halo_weave.server.kobold.engine_scheduler import EngineScheduler, ScheduledCall

WAIT_S = 60.0
PROMPT = [Placed(position, 97) for position in range(3)]


def with_job(work: Callable[[EngineScheduler, ScheduledCall], Awaitable[None]]) -> None:
    async def run() -> None:
        desk, job = EngineScheduler(), ScheduledCall("client", "address", "mine")
        try:
            await work(desk, job)
        finally:
            desk.close()

    asyncio.run(run())


def test_an_abort_that_comes_before_the_engine_call_is_not_lost() -> None:
    context = EchoEngine().open_context()
    context.sync(PROMPT)

    async def work(desk: EngineScheduler, job: ScheduledCall) -> None:
        with desk.registered(job):
            assert desk.abort(AbortRequest("mine"), "elsewhere")
            with pytest.raises(EngineStopped):
                await desk.call(job, lambda: context.sync(PROMPT, cancellation=job.cancellation))
            steps = await desk.call(
                job, lambda: list(context.generate(GenerationSettings(), cancellation=job.cancellation))
            )
            assert [step.finish_reason for step in steps] == ["stopped"]

    with_job(work)


def test_an_abort_that_overtakes_its_request_cancels_it() -> None:
    async def work(desk: EngineScheduler, job: ScheduledCall) -> None:
        assert not desk.abort(AbortRequest("mine"), "elsewhere")
        with desk.registered(job):
            assert job.cancellation.is_cancelled

    with_job(work)


def test_a_client_that_goes_away_cancels_its_call_and_waits_until_the_engine_is_done() -> None:
    has_begun = threading.Event()
    ended: list[bool] = []

    async def work(desk: EngineScheduler, job: ScheduledCall) -> None:
        def engine_call() -> None:
            has_begun.set()
            ended.append(job.cancellation.wait(WAIT_S))

        calling = asyncio.create_task(desk.call(job, engine_call))
        await asyncio.to_thread(has_begun.wait, WAIT_S)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert ended == [True]

    with_job(work)


def test_the_end_of_the_server_cancels_what_is_under_way() -> None:
    has_begun = threading.Event()

    async def work(desk: EngineScheduler, job: ScheduledCall) -> None:
        def engine_call() -> bool:
            has_begun.set()
            return job.cancellation.wait(WAIT_S)

        with desk.registered(job), ThreadPoolExecutor(1) as threads:
            calling = asyncio.create_task(desk.call(job, engine_call))
            await asyncio.wrap_future(threads.submit(has_begun.wait, WAIT_S))
            desk.close()
            assert await calling

    with_job(work)
