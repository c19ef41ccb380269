"""Long background jobs, with progress and a way to stop them."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from halo_weave.errors import HaloError
from halo_weave.server.http_errors import Busy, NotFound
from halo_weave.system.background import BackgroundThread, count_failure

JobKind = Literal["import", "reembed"]
JobState = Literal["running", "done", "failed", "stopped"]
_REMEMBERED = 20
_TELL_EVERY_S = 0.1


class Job(msgspec.Struct, frozen=True):
    """`total`, `rate` (per second) and `seconds_left` are None while they are unknown."""

    id: str
    kind: JobKind
    text: str
    done: int = 0
    total: int | None = None
    rate: float | None = None
    seconds_left: float | None = None
    state: JobState = "running"
    error: str | None = None


class _Stopped(Exception):
    pass


class JobHandle:
    """A running job as its work sees it. `show` raises if the job was stopped, which ends the work."""

    def __init__(self, jobs: "Jobs", job: Job) -> None:
        self._jobs = jobs
        self.job = job
        self._is_stopped = threading.Event()
        self._begun: tuple[str, int, float] | None = None

    def is_stopped(self) -> bool:
        return self._is_stopped.is_set()

    def stop(self) -> None:
        self._is_stopped.set()

    def show(self, text: str, done: int, total: int | None) -> None:
        if self.is_stopped():
            raise _Stopped
        self.note(text, done, total)

    def note(self, text: str, done: int, total: int | None) -> None:
        """Like `show`, for work that checks on its own whether it was stopped."""
        now = time.monotonic()
        if self._begun is None or self._begun[0] != text or done < self._begun[1]:
            self._begun = text, done, now
        _, before, since = self._begun
        rate = (done - before) / (now - since) if done > before and now > since else None
        left = (total - done) / rate if rate and total is not None else None
        self._jobs.change(self, text=text, done=done, total=total, rate=rate, seconds_left=left)


class Jobs:
    """Thread-safe; runs one job of each kind at a time."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._handles: dict[str, JobHandle] = {}
        self._threads: list[BackgroundThread] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._told_at = 0.0

    def start(self, kind: JobKind, text: str, work: Callable[[JobHandle], str]) -> Job:
        """Start work that returns its result as a sentence."""
        with self._lock:
            if any(one.job.kind == kind and one.job.state == "running" for one in self._handles.values()):
                raise Busy(f"Another {kind} is still running; wait for it, or stop it.")
            handle = JobHandle(self, Job(str(next(self._numbers)), kind, text))
            self._handles[handle.job.id] = handle
            while len(self._handles) > _REMEMBERED:
                del self._handles[next(iter(self._handles))]
            thread = BackgroundThread(_thread_name(kind), lambda: self._run(handle, work))
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            job = handle.job
        thread.start()
        self._on_change()
        return job

    def all(self) -> list[Job]:
        with self._lock:
            return [handle.job for handle in self._handles.values()]

    def stop(self, job_id: str) -> Job:
        with self._lock:
            handle = self._handles.get(job_id)
        if handle is None:
            raise NotFound(f"There is no job {job_id[:40]}.")
        handle.stop()
        return handle.job

    def close(self) -> None:
        with self._lock:
            handles, threads = list(self._handles.values()), list(self._threads)
        for handle in handles:
            handle.stop()
        for thread in threads:
            thread.join()

    def change(self, handle: JobHandle, **values: object) -> None:
        with self._lock:
            handle.job = msgspec.structs.replace(handle.job, **values)
            now = time.monotonic()
            is_told = handle.job.state != "running" or now - self._told_at >= _TELL_EVERY_S
            self._told_at = now if is_told else self._told_at
        if is_told:
            self._on_change()

    def _run(self, handle: JobHandle, work: Callable[[JobHandle], str]) -> None:
        try:
            text = work(handle)
            state: JobState = "stopped" if handle.is_stopped() else "done"
            self.change(handle, text=text, state=state, seconds_left=None)
        except _Stopped:
            self.change(handle, text="stopped; nothing was changed", state="stopped", seconds_left=None)
        except HaloError as error:
            self.change(handle, state="failed", error=str(error), seconds_left=None)
        except Exception as error:
            count_failure(_thread_name(handle.job.kind), error)
            words = f"Internal error ({type(error).__name__}); see the log for details."
            self.change(handle, state="failed", error=words, seconds_left=None)


def _thread_name(kind: JobKind) -> str:
    return f"job-{kind}"
