"""A cancellation is never lost, at any time and from any thread."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.errors import EngineStopped

WAIT_S = 60.0
INTERLEAVINGS = 500


def test_once_cancelled_it_stays_so() -> None:
    cancellation = Cancellation()
    assert not cancellation.is_cancelled
    cancellation.require_going_on("The reply")
    for _ in range(2):
        cancellation.cancel()
        assert cancellation.is_cancelled
    with pytest.raises(EngineStopped, match=r"The reply was stopped\."):
        cancellation.require_going_on("The reply")


def test_waiting_ends_with_the_cancellation_or_with_the_time() -> None:
    cancellation = Cancellation()
    assert not cancellation.wait(0)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(cancellation.wait)
        cancellation.cancel()
        assert waiting.result(WAIT_S)
    assert cancellation.wait(0)


@given(moves=st.lists(st.sampled_from(["enter", "leave", "cancel"]), max_size=30))
def test_a_callback_is_called_once_in_its_block_and_never_after_it(moves: list[str]) -> None:
    """The cancellation calls the callbacks whose blocks are open; a block entered later calls its own at once."""
    cancellation, calls, expected = Cancellation(), list[int](), list[int]()
    open_blocks: list[tuple[int, ExitStack]] = []
    is_cancelled, entered = False, 0
    for move in moves:
        if move == "enter":
            stack = ExitStack()
            open_blocks.append((entered, stack))
            stack.enter_context(cancellation.on_cancel(partial(calls.append, entered)))
            expected += [entered] if is_cancelled else []
            entered += 1
        elif move == "leave" and open_blocks:
            open_blocks.pop(0)[1].close()
        elif move == "cancel":
            cancellation.cancel()
            expected += [] if is_cancelled else [number for number, _ in reversed(open_blocks)]
            is_cancelled = True
        assert calls == expected
        assert cancellation.is_cancelled == is_cancelled
    for _, stack in open_blocks:
        stack.close()
    cancellation.cancel()
    assert calls == expected


def race(*works: Callable[[], object]) -> None:
    """Start all at the same moment."""
    begins = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        begins.wait(WAIT_S)
        work()

    with ThreadPoolExecutor(len(works)) as threads:
        for done in [threads.submit(run, work) for work in works]:
            done.result(WAIT_S)


def test_however_block_and_cancellation_meet_the_callback_belongs_to_the_block() -> None:
    """It has returned when the block ends, is called at most once, and is called if the block saw the cancellation."""
    for _ in range(INTERLEAVINGS):
        cancellation, calls, seen = Cancellation(), list[str](), list[tuple[bool, int]]()

        def work(
            cancellation: Cancellation = cancellation,
            calls: list[str] = calls,
            seen: list[tuple[bool, int]] = seen,
        ) -> None:
            with cancellation.on_cancel(lambda: calls.append("called")):
                was_cancelled = cancellation.is_cancelled
            seen.append((was_cancelled, len(calls)))

        race(work, cancellation.cancel, cancellation.cancel)
        ((was_cancelled, calls_at_end),) = seen
        assert len(calls) == calls_at_end <= 1
        assert calls or not was_cancelled


def test_the_end_of_a_block_waits_for_a_callback_under_way() -> None:
    cancellation, has_begun, may_end = Cancellation(), threading.Event(), threading.Event()
    order: list[str] = []

    def callback() -> None:
        has_begun.set()
        assert may_end.wait(WAIT_S)
        order.append("called back")

    def work() -> None:
        with cancellation.on_cancel(callback):
            has_entered.set()
            assert has_begun.wait(WAIT_S)
            may_end.set()
        order.append("block ended")

    has_entered = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(work)
        assert has_entered.wait(WAIT_S)
        cancellation.cancel()
        working.result(WAIT_S)
    assert order == ["called back", "block ended"]


def test_a_callback_may_cancel_again_and_may_end_the_block_of_another() -> None:
    cancellation, calls, inner = Cancellation(), list[str](), ExitStack()

    def end_other() -> None:
        calls.append("first")
        cancellation.cancel()
        inner.close()

    inner.enter_context(cancellation.on_cancel(lambda: calls.append("never: its block has ended")))
    with cancellation.on_cancel(end_other):
        cancellation.cancel()
    assert calls == ["first"]


def test_all_callbacks_are_called_even_if_one_fails() -> None:
    cancellation, calls = Cancellation(), list[str]()

    def fail() -> None:
        raise ValueError("unexpected")

    with (
        cancellation.on_cancel(lambda: calls.append("outer")),
        cancellation.on_cancel(fail),
        cancellation.on_cancel(lambda: calls.append("inner")),
        pytest.raises(ValueError, match="unexpected"),
    ):
        cancellation.cancel()
    assert calls == ["inner", "outer"]
    assert cancellation.is_cancelled


@settings(max_examples=50)
@given(
    sources=st.lists(st.sampled_from(["absent", "cancelled", "cancelled inside", "cancelled after", "quiet"])),
    is_cancelled_alone=st.booleans(),
)
def test_a_linked_one_is_cancelled_by_any_source_in_the_block_and_cancels_none(
    sources: list[str], is_cancelled_alone: bool
) -> None:
    cancellations = [None if kind == "absent" else Cancellation() for kind in sources]

    def cancel(kind: str) -> None:
        for one, of in zip(cancellations, sources, strict=True):
            if one is not None and of == kind:
                one.cancel()

    cancel("cancelled")
    with linked(*cancellations) as narrower:
        assert narrower.is_cancelled == ("cancelled" in sources)
        if is_cancelled_alone:
            narrower.cancel()
        cancel("cancelled inside")
        is_cancelled = is_cancelled_alone or not {"cancelled", "cancelled inside"}.isdisjoint(sources)
        assert narrower.is_cancelled == is_cancelled
    cancel("cancelled after")
    assert narrower.is_cancelled == is_cancelled
    assert [one.is_cancelled for one in cancellations if one is not None] == [
        kind.startswith("cancelled") for kind in sources if kind != "absent"
    ]


def test_a_linked_one_is_cancelled_as_soon_as_its_source_is() -> None:
    """Even while the source is still calling its callbacks, of which the linked one is only one."""
    source, seen = Cancellation(), list[bool]()
    with linked(source) as narrower, source.on_cancel(lambda: seen.append(narrower.is_cancelled)):
        source.cancel()
    assert seen == [True]
    with pytest.raises(EngineStopped):
        narrower.require_going_on("The reply")


def test_two_sources_at_once_cancel_a_linked_one_once() -> None:
    for _ in range(INTERLEAVINGS):
        first, second, calls = Cancellation(), Cancellation(), list[str]()
        with linked(first, second) as narrower, narrower.on_cancel(partial(calls.append, "called")):
            race(first.cancel, second.cancel)
        assert calls == ["called"]
