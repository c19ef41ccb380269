"""A window's timeline tells every change of its context with its reason, and leads back to each earlier context."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from threading import current_thread, main_thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.turn.turn import send
from halo_weave.session.window.saved_window import decoded
from halo_weave.session.window.timeline import ChangeCause, Moment, Presence, changes_between, undo
from halo_weave.session.window.window import Window
from support.endings import Ended, ending_before_write
from support.windows import PLAIN, opened_hub, weave, with_section

KEYS = st.integers(0, 5).map(lambda turn: ChunkKey(turn, 0, "user"))
CONTEXTS = st.dictionaries(KEYS, st.sampled_from([1, 3, 5, 7]).map(Presence))
SMALL = weave(with_section(PLAIN, "generation", max_tokens=40), budget_tokens=160)


def told(moment: Moment) -> list[tuple[str, str]]:
    return [(change.kind, change.reason) for change in moment.changes]


def newest(window: Window) -> Moment:
    return window.timeline.page(limit=1)[0]


def saved_context(window: Window) -> dict[ChunkKey, bool]:
    """Whether each chunk is pinned, by the window's file."""
    record = window.memory.window_store.window(window.id)
    assert record is not None
    return {one.key.key: one.is_pinned for one in decoded(record.state, record.name).chunks}


@given(before=CONTEXTS, after=CONTEXTS, deleted=st.sets(KEYS))
def test_undoing_what_changed_between_two_contexts_gives_the_earlier_one(
    before: dict[ChunkKey, Presence], after: dict[ChunkKey, Presence], deleted: set[ChunkKey]
) -> None:
    causes = dict.fromkeys(deleted, ChangeCause("deleted", "Deleted."))
    changes = changes_between(before, after, causes, always=deleted)
    context = dict(after)
    undo(context, changes)
    assert context == before
    assert {change.key for change in changes} >= before.keys() ^ after.keys()
    assert (before == after and not deleted - before.keys()) == (not changes)


def test_every_kind_of_change_is_told_with_its_reason(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", EchoEngine(["Yes."] * 9), SMALL) as hub:
        window = hub.open("main")
        send(window, "The harbour opens at nine.")
        message, reply = reversed(window.timeline.page(limit=9))
        assert (told(message), told(reply)) == ([("said", "")], [("said", "")])
        assert [change.key.role for change in (*message.changes, *reply.changes)] == ["user", "assistant"]
        key = message.changes[0].key
        actions.pin(window, key)
        assert told(newest(window)) == [("pinned", "")]
        actions.unpin(window, key)
        assert told(newest(window)) == [("unpinned", "")]
        number = newest(window).number
        window.rename("harbour")
        assert newest(window).number == number  # nothing changed in the context

        window.set_overrides({"weave.budget_tokens": 60})
        send(window, "Something else entirely, at some length, about gardens and winters and the sea. " * 3)
        burials = [change for moment in window.timeline.page(limit=9) for change in moment.changes if not change.after]
        assert key in [change.key for change in burials]
        assert all(change.kind == "buried" and change.reason.startswith("Left because") for change in burials)
        actions.resurrect(window, key)
        assert ("returned", "Brought back by hand.") in told(newest(window))

        actions.delete(window, key)
        assert {change.kind for change in newest(window).changes} == {"deleted"}
        assert newest(window).changes[0].reason == "Deleted."
        actions.undelete(window, [key])
        assert ("undeleted", "Its deletion was undone.") in told(newest(window))
        actions.regenerate(window)
        reasons = [reason for moment in window.timeline.page(limit=3) for _, reason in told(moment)]
        assert "Superseded by a newer version." in reasons


def test_what_was_deleted_elsewhere_is_told_whether_the_window_was_open_or_not(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", EchoEngine(["Yes."] * 9)) as hub:
        window = hub.open("main")
        for text in ("One harbour.", "Two gardens."):
            send(window, text)
        first, second = (ChunkKey(turn, 0, "user") for turn in (1, 3))
        window.memory.delete([first], "elsewhere")
        send(window, "Three.")
        hub.close_window(window)
        window.memory.delete([second], "elsewhere")
        window = hub.open("main")
        send(window, "Four.")
        changes = [change for moment in window.timeline.page(limit=99) for change in moment.changes]
        gone = {change.key: (change.kind, change.reason) for change in changes if change.before and not change.after}
        assert gone == dict.fromkeys((first, second), ("deleted", "Deleted elsewhere."))


def test_the_context_of_each_moment_is_the_one_that_was_saved_then_also_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[int, Mapping[ChunkKey, bool]] = {}
    peaks: dict[int, list[float]] = {}
    real = Window.save

    def save(window: Window) -> None:
        real(window)
        saved[window.version] = saved_context(window)
        peaks[window.version] = [window.life.context[key].peak for key in sorted(window.life.context.keys())]

    monkeypatch.setattr(Window, "save", save)
    path = tmp_path / "halo.db"
    with opened_hub(path, EchoEngine(["The answer is long enough to fill it."] * 30), SMALL) as hub:
        window = hub.open("main")
        for number in range(8):
            send(window, f"Message {number} about the garden.\n\nAnd a second paragraph about winter {number}.")
        actions.pin(window, next(iter(window.life.context)).key)
        actions.resurrect(window, next(iter(window.life.burial_log)))
        actions.delete(window, ChunkKey(5, 0, "user"))
        actions.regenerate(window)
    with opened_hub(path, EchoEngine(), SMALL) as hub:
        window = hub.open("main")
        moments = window.timeline.page(limit=1000)
        for moment in moments:
            past = window.timeline.context_at(moment.number)
            assert past is not None
            assert {key: bool(one & Presence.PINNED) for key, one in past.chunks.items()} == saved[moment.number]
            assert past.peaks == pytest.approx(peaks[moment.number], rel=0.05, abs=0.1)
            assert past.moment == moment
        contexts = [saved[version] for version in sorted(saved)]
        changed = sum(before != after for before, after in pairwise(contexts))
        assert len(moments) >= changed > 20
        for unknown in (0, moments[0].number + 1, next(n for n in saved if n not in {one.number for one in moments})):
            assert window.timeline.context_at(unknown) is None


@pytest.mark.parametrize("write", range(9))
def test_whenever_a_process_ends_the_timeline_tells_what_the_window_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    """What was saved is told, and nothing that was not."""
    path = tmp_path / "halo.db"
    with opened_hub(path, EchoEngine(["Yes, the harbour."] * 9), SMALL) as hub:
        window = hub.open("main")
        for number in range(4):
            send(window, f"Message {number} about the garden, with some words more.")
        try:
            with ending_before_write(monkeypatch, write, lambda: current_thread() is main_thread()):
                send(window, "What of the harbour?")
        except Ended:
            pass
    with opened_hub(path, EchoEngine(["Yes."]), SMALL) as hub:
        window = hub.open("main")
        past = window.timeline.context_at(newest(window).number)
        assert past is not None
        assert past.chunks.keys() == saved_context(window).keys() == window.life.context.keys()
        context = dict(past.chunks)
        for moment in window.timeline.page(limit=1000):
            assert all(bool(change.after) == (change.key in context) for change in moment.changes)
            undo(context, moment.changes)
        assert not context
        assert window.memory.store.verify() == []
