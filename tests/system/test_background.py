"""Background threads: a failure is counted and reported, and a thread that has to continue does."""

import threading

from halo_weave.system.background import BackgroundThread, failures

PATIENCE_S = 60.0


class Failing:
    def __init__(self, times: int) -> None:
        self._left = times
        self.is_done = threading.Event()

    def __call__(self) -> None:
        if self._left:
            self._left -= 1
            raise ValueError("not today")
        self.is_done.set()


def test_a_thread_that_has_to_go_on_is_restarted_after_each_failure() -> None:
    work, told = Failing(times=3), list[str]()
    thread = BackgroundThread("going on", work, restarts=True, on_failure=told.append, first_pause_s=0)
    thread.start()
    assert work.is_done.wait(PATIENCE_S)
    thread.join()
    assert told == ["The background thread going on failed (ValueError: not today); see the log for details."] * 3
    assert failures()["going on"] == 3


def test_a_failure_of_work_that_is_done_once_is_counted_and_reported() -> None:
    work, told = Failing(times=1), list[str]()
    thread = BackgroundThread("once", work, on_failure=told.append)
    thread.start()
    thread.join()
    assert not work.is_done.is_set()
    assert len(told) == failures()["once"] == 1


def test_a_report_that_fails_itself_does_not_end_the_thread() -> None:
    def refuse(_: str) -> None:
        raise OSError("nobody listens")

    work = Failing(times=1)
    thread = BackgroundThread("unheard", work, restarts=True, on_failure=refuse, first_pause_s=0)
    thread.start()
    assert work.is_done.wait(PATIENCE_S)


def test_a_thread_that_waits_to_restart_can_be_ended() -> None:
    failed = threading.Event()
    thread = BackgroundThread(
        "ended", Failing(times=10), restarts=True, on_failure=lambda _: failed.set(), first_pause_s=3600
    )
    thread.start()
    assert failed.wait(PATIENCE_S)
    thread.give_up()
    thread.join()
