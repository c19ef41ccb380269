"""The invariants hold for any sequence of actions on two windows of one memory."""

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from halo_weave.engine.echo import EchoEngine
from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.external_changes import apply_external_changes
from halo_weave.session.window.timeline import Presence, undo
from halo_weave.session.window.window import Window
from halo_weave.weave.resurrection import group_keys
from support.windows import PLAIN, Clock, Happening, brightness, is_ascending, opened_hub, weave, with_section

FULL = bool(os.environ.get("HALO_TEST_FULL"))
CONTEXT = 600
SETTINGS = weave(with_section(PLAIN, "generation", max_tokens=60), budget_tokens=260, resurrection=True)
SUBJECTS = st.sampled_from(["river", "ocean", "garden", "clock", "winter"])
PARAGRAPHS = st.integers(1, 4)
WHICH = st.integers(0, 10_000)
NAMES = st.sampled_from(["one", "two"])


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.happening = Happening()
        self.clock = Clock()
        self.engine = EchoEngine(attention=self.happening, context_tokens=CONTEXT)
        self.acted: Window | None = None
        self.deletions: list[tuple[ChunkKey, ...]] = []

    @initialize()
    def open(self) -> None:
        self.hub_stack = ExitStack()
        path = self.folder / "halo.db"
        self.hub = self.hub_stack.enter_context(opened_hub(path, self.engine, SETTINGS, clock=self.clock))

    def teardown(self) -> None:
        if hasattr(self, "hub_stack"):
            self.hub_stack.close()
        self.stack.close()

    @rule(name=NAMES, subject=SUBJECTS, paragraphs=PARAGRAPHS, steps_until_stop=st.none() | st.integers(0, 20))
    def message(self, name: str, subject: str, paragraphs: int, steps_until_stop: int | None) -> None:
        window = self.act(name)
        if steps_until_stop is not None:
            self.happening.at = {self.happening.steps + steps_until_stop: window.stop}
        text = "\n\n".join(f"What of the {subject} in year {number}, please?" for number in range(paragraphs))
        send(window, text)
        self.happening.at = {}

    @rule(name=NAMES)
    def regenerate(self, name: str) -> None:
        window = self.act(name)
        if window.newest is not None:
            self.unless_refused(lambda: actions.regenerate(window))

    @rule(name=NAMES, which=WHICH, subject=SUBJECTS)
    def edit(self, name: str, which: int, subject: str) -> None:
        window = self.act(name)
        if key := self.chosen(which, [chunk.key for chunk in window.life.context if chunk.key.role == "user"]):
            self.unless_refused(lambda: actions.edit_question(window, key.turn, f"And the {subject}?"))

    @rule(name=NAMES, subject=SUBJECTS, paragraphs=PARAGRAPHS)
    def edit_reply(self, name: str, subject: str, paragraphs: int) -> None:
        window = self.act(name)
        if window.newest is not None:
            turn = window.newest.turn_assistant
            text = "\n\n".join(f"In year {number} it was all about the {subject}." for number in range(paragraphs))
            self.unless_refused(lambda: actions.edit_reply(window, turn, text))

    @rule(name=NAMES)
    def go_on(self, name: str) -> None:
        window = self.act(name)
        self.unless_refused(lambda: continue_reply(window))

    @rule(name=NAMES, which=WHICH)
    def delete(self, name: str, which: int) -> None:
        window = self.act(name)
        if key := self.chosen(which, self.undeleted()):
            self.deletions.append(actions.delete(window, key).keys)

    @rule(name=NAMES)
    def undo(self, name: str) -> None:
        window = self.act(name)
        if self.deletions:
            keys = self.deletions.pop()
            actions.undelete(window, keys)

    @rule(which=WHICH)
    def delete_elsewhere(self, which: int) -> None:
        self.acted = None
        if key := self.chosen(which, self.undeleted()):
            self.memory.delete([key], "elsewhere")
            self.deletions.append((key,))

    @rule(name=NAMES, which=WHICH)
    def pin(self, name: str, which: int) -> None:
        window = self.act(name)
        pinned = sum(len(chunk.tokens) for chunk in window.life.context if chunk.is_pinned)
        if pinned < 60 and (key := self.chosen(which, window.life.context.keys())):
            actions.pin(window, key)

    @rule(name=NAMES, which=WHICH)
    def unpin(self, name: str, which: int) -> None:
        window = self.act(name)
        if key := self.chosen(which, [chunk.key for chunk in window.life.context if chunk.is_pinned]):
            actions.unpin(window, key)

    @rule(name=NAMES, which=WHICH)
    def resurrect(self, name: str, which: int) -> None:
        window = self.act(name)
        pinned = sum(len(chunk.tokens) for chunk in window.life.context if chunk.is_pinned)
        dormant = [key for key in self.undeleted() if key not in window.life.context]
        if pinned < 60 and (key := self.chosen(which, dormant)):
            self.unless_refused(lambda: actions.resurrect(window, key))

    @rule(name=NAMES, which=WHICH)
    def merge(self, name: str, which: int) -> None:
        window = self.act(name)
        if key := self.chosen(which, [key for key in self.undeleted() if key.index]):
            self.unless_refused(lambda: actions.merge(window, key))

    @rule(name=NAMES, budget=st.integers(150, 400))
    def set_budget(self, name: str, budget: int) -> None:
        self.act(name).set_overrides({"weave.budget_tokens": budget})

    @rule(name=NAMES)
    def close_and_open_again(self, name: str) -> None:
        window = self.act(name)
        self.catch_up(window)
        before = saved_of(window)
        self.hub.close_window(window)
        self.acted = self.hub.open(name)
        assert saved_of(self.acted) == before

    @rule()
    def restart(self) -> None:
        windows = {name: self.hub.open(name) for name in ("one", "two")}
        for window in windows.values():
            self.catch_up(window)
        before = {name: saved_of(window) for name, window in windows.items()}
        self.hub_stack.close()
        self.open()
        self.acted = None
        assert {name: saved_of(self.hub.open(name)) for name in windows} == before

    @invariant()
    def what_must_hold(self) -> None:
        if not hasattr(self, "hub"):
            return
        if self.acted is not None:
            assert_in_budget(self.acted)
        for window in self.hub.open_windows():
            self.catch_up(window)
            self.assert_whole(window)

    def assert_whole(self, window: Window) -> None:
        layout = window.life.layout()
        assert is_ascending(layout.placed)
        assert len(layout.placed) == window.life.size()
        stored = {chunk.key: chunk for chunk in self.stored()}
        deleted = {key for key, chunk in stored.items() if chunk.deleted}
        living, buried = window.life.context.keys(), window.life.burial_log.keys()
        assert not living & buried
        assert not (living | buried) & deleted
        assert (living | buried) <= stored.keys()
        own = {key for key, chunk in stored.items() if (chunk.metadata or {})["window"] == window.id}
        assert own <= living | buried | deleted
        for chunk in window.life.context:
            assert chunk.text == stored[chunk.key].text
            assert (chunk.first_position, chunk.end_position) == (
                stored[chunk.key].first_position,
                stored[chunk.key].end_position,
            )
            assert chunk.state.shape == (window.scorer.lanes, len(chunk.tokens))
            anchors = group_keys(chunk.key)[1:]
            assert all(anchor in living for anchor in anchors if anchor in stored and anchor not in deleted)
        assert_timeline_leads_to_the_beginning(window)
        window.sync(layout)
        assert window.engine_context.tokens == layout.placed

    def act(self, name: str) -> Window:
        self.acted = self.hub.open(name)
        return self.acted

    def catch_up(self, window: Window) -> None:
        with window.working("testing"):
            apply_external_changes(window)
            window.save()

    def unless_refused(self, action: Callable[[], object]) -> None:
        with suppress(InputError):
            action()

    @property
    def memory(self) -> Memory:
        return self.hub.open("one").memory

    def stored(self) -> list[Chunk]:
        return [entry.chunk for entry in self.memory.store.chunks_from(0, 10_000)]

    def undeleted(self) -> list[ChunkKey]:
        return [chunk.key for chunk in self.stored() if not chunk.deleted]

    def chosen(self, which: int, keys: Iterable[ChunkKey]) -> ChunkKey | None:
        ordered = sorted(keys)
        return ordered[which % len(ordered)] if ordered else None


def assert_in_budget(window: Window) -> None:
    """Or else nothing more can leave, which is reported."""
    assert window.life.plan_pruning(window.budget, window.life.current).burials == ()


def assert_timeline_leads_to_the_beginning(window: Window) -> None:
    """Undoing every change, newest first, leads from the present context to an empty one."""
    context = dict.fromkeys(window.life.context.keys(), Presence.LIVING)
    for moment in window.timeline.page(limit=1000):
        for change in moment.changes:
            assert bool(change.after) == (change.key in context)
        undo(context, moment.changes)
    assert not context


def saved_of(window: Window) -> object:
    return (
        brightness(window),
        window.life.layout().placed,
        {chunk.key for chunk in window.life.context if chunk.is_pinned},
        dict(window.life.burial_log),
        window.newest,
        window.messages,
    )


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_whatever_is_done_in_two_windows_everything_is_living_or_buried_or_deleted() -> None:
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=200 if FULL else 25, stateful_step_count=40 if FULL else 20)
    )
