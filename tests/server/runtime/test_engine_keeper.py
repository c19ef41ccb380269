"""Changes of the engine in any order: the newest wins, and each engine is closed once, never while in use."""

import itertools
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable
from halo_weave.server.runtime.engine_keeper import EngineKeeper
from support.servers.served import PATIENCE_S


class CountedEngine(EchoEngine):
    def __init__(self, name: str, context_tokens: int) -> None:
        super().__init__(context_tokens=context_tokens)
        self.name = name
        self.closings = 0

    def close(self) -> None:
        self.closings += 1


class Opening:
    """One call of `open_engine`, which waits until the test decides its outcome."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.thread = threading.current_thread()
        self._outcome: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def end(self, *, succeeds: bool, waits: bool = True) -> None:
        self._outcome.put(succeeds)
        if waits:
            self.thread.join(PATIENCE_S)
            assert not self.thread.is_alive()

    def outcome(self) -> bool:
        return self._outcome.get(timeout=PATIENCE_S)


class Workshop:
    """A keeper whose engines open when the test says so, and the engine that its user holds."""

    def __init__(self) -> None:
        self.engines: list[CountedEngine] = []
        self.used: CountedEngine | None = None
        self.user_fails = False
        self._may_take, self._is_taking = threading.Event(), threading.Event()
        self._may_take.set()
        self.openings: queue.SimpleQueue[Opening] = queue.SimpleQueue()
        self.keeper = EngineKeeper(self._open, self._use, lambda: None)

    def load(self, name: str) -> Opening | None:
        return self.openings.get(timeout=PATIENCE_S) if self.keeper.load(EngineSettings(model=name)) else None

    def take_over(self, opening: Opening) -> None:
        """Let an engine open, and keep its user busy taking it over until `let_go`."""
        self._may_take.clear()
        self._is_taking.clear()
        opening.end(succeeds=True, waits=False)
        assert self._is_taking.wait(PATIENCE_S)

    def let_go(self) -> None:
        self._may_take.set()

    def serving(self) -> str | None:
        """Return the name of the engine in use; user and keeper must agree on it, and it must not be closed."""
        engine = self.keeper.engine
        assert engine is self.used
        assert self.used is None or self.used.closings == 0
        return None if self.used is None else self.used.name

    def require_closed_once(self) -> None:
        assert [engine.closings for engine in self.engines] == [1] * len(self.engines)

    def _open(self, settings: EngineSettings) -> Engine:
        opening = Opening(settings)
        self.openings.put(opening)
        if not opening.outcome():
            raise EngineUnavailable(f"There is no model file {settings.model}.")
        self.engines.append(CountedEngine(settings.model, 1024 + len(self.engines)))
        return self.engines[-1]

    def _use(self, engine: Engine) -> None:
        assert isinstance(engine, CountedEngine)
        self._is_taking.set()
        assert self._may_take.wait(PATIENCE_S)
        assert self.used is None or self.used.closings == 0
        if self.user_fails:
            raise RuntimeError("It cannot be used.")
        self.used = engine


@contextmanager
def workshop(*, first: str | None = "first") -> Iterator[Workshop]:
    """Start with an engine in use unless `first` is None; at the end every engine must have been closed once."""
    one = Workshop()
    if first is not None:
        opening = one.load(first)
        assert opening is not None
        opening.end(succeeds=True)
        assert one.serving() == first
    yield one
    one.keeper.close()
    one.require_closed_once()


class Moment(NamedTuple):
    """An event for the keeper: engine `number` is requested, or its opening ends."""

    action: Literal["load", "end"]
    number: int


def orders(changes: int) -> list[list[Moment]]:
    """Return all orders in which engines can be requested one after another and their openings can end."""
    moments = [Moment(action, number) for number in range(changes) for action in ("load", "end")]
    return [
        list(order)
        for order in itertools.permutations(moments)
        if [one.number for one in order if one.action == "load"] == list(range(changes))
        and all(order.index(Moment("load", one.number)) <= place for place, one in enumerate(order))
    ]


def play(one: Workshop, order: Sequence[Moment], succeeds: Sequence[bool], closes_before: int | None = None) -> str:
    """Play the events; return which engine must be in use afterwards."""
    openings: dict[int, Opening] = {}
    newest, expected, is_over = -1, "first", False
    for place, (action, number) in enumerate(order):
        if place == closes_before:
            one.keeper.stop()
            is_over = True
        if action == "load":
            newest = number
            if not is_over:
                opening = one.load(str(number))
                assert opening is not None
                openings[number] = opening
        elif number in openings:
            openings[number].end(succeeds=succeeds[number])
            if number == newest and succeeds[number] and not is_over:
                expected = str(number)
        assert one.serving() == expected
    return expected


@pytest.mark.parametrize("changes", [2, 3])
def test_the_newest_request_wins_whichever_engine_opens_first_or_fails(changes: int) -> None:
    for order in orders(changes):
        for succeeds in itertools.product((True, False), repeat=changes):
            with workshop() as one:
                expected = play(one, order, succeeds)
                assert one.keeper.status.state == "ready"
                assert not one.keeper.status.is_loading
                assert bool(one.keeper.status.failure) == (not succeeds[-1]), (order, succeeds)
                assert one.serving() == expected


def test_an_engine_that_opens_after_the_end_closes_itself() -> None:
    for order in orders(2):
        for closes_before, succeeds in itertools.product(range(4), itertools.product((True, False), repeat=2)):
            with workshop() as one:
                play(one, order, succeeds, closes_before)


@given(
    st.lists(st.tuples(st.sampled_from(("load", "succeed", "fail", "user fails")), st.integers(0, 3)), max_size=12),
    st.booleans(),
)
def test_whatever_is_asked_for_each_engine_is_closed_once_and_never_while_it_serves(
    happenings: list[tuple[str, int]], has_first: bool
) -> None:
    """The same engine may be requested again, and one that is opening may turn out to be unusable."""
    with workshop(first="0" if has_first else None) as one:
        openings: list[Opening] = []
        for happening, number in happenings:
            if happening == "load":
                opening = one.load(str(number))
                openings += [opening] if opening is not None else []
            elif openings:
                one.user_fails = happening == "user fails"
                openings.pop(number % len(openings)).end(succeeds=happening != "fail")
            one.serving()
        one.user_fails = False
        wanted = one.load("newest")
        assert wanted is not None
        for opening in [*openings, wanted]:
            opening.end(succeeds=True)
        assert one.serving() == "newest"


@pytest.mark.parametrize("succeeds", [True, False])
def test_an_engine_that_opens_while_another_takes_over_comes_after_it(succeeds: bool) -> None:
    with workshop() as one:
        older = one.load("older")
        assert older is not None
        one.take_over(older)
        newer = one.load("newer")
        assert newer is not None
        newer.end(succeeds=succeeds, waits=False)
        one.let_go()
        for opening in (older, newer):
            opening.thread.join(PATIENCE_S)
        assert one.serving() == ("newer" if succeeds else "older")


def test_going_back_while_another_engine_takes_over_is_not_overlooked() -> None:
    with workshop() as one:
        other = one.load("other")
        assert other is not None
        one.take_over(other)
        back = one.load("first")
        assert back is not None
        one.let_go()
        back.end(succeeds=True)
        assert one.serving() == "first"


def test_going_back_to_the_engine_that_serves_opens_nothing() -> None:
    with workshop() as one:
        failing = one.load("missing")
        assert failing is not None
        failing.end(succeeds=False)
        assert one.keeper.status.failure == "The model could not be loaded: There is no model file missing."
        assert one.load("first") is None
        assert one.keeper.status == ("ready", "ready", False, "")
        pending = one.load("slow")
        assert pending is not None
        assert one.load("first") is None
        pending.end(succeeds=True)
        assert one.serving() == "first"


def test_closing_waits_for_an_engine_that_is_taking_over() -> None:
    with workshop() as one:
        opening = one.load("second")
        assert opening is not None
        one.take_over(opening)
        closing = threading.Thread(target=one.keeper.close)
        closing.start()
        one.let_go()
        closing.join(PATIENCE_S)
        assert not closing.is_alive()


def test_an_engine_that_cannot_be_used_leaves_the_one_before_in_its_place(caplog: pytest.LogCaptureFixture) -> None:
    with workshop() as one:
        opening = one.load("second")
        assert opening is not None
        one.user_fails = True
        opening.end(succeeds=True)
        assert one.serving() == "first"
        assert one.keeper.status.failure == "The model could not be loaded: It cannot be used."
    assert "It cannot be used." in caplog.text


def test_a_server_that_is_lost_while_another_engine_loads_does_not_win_over_it() -> None:
    one = Workshop()
    servers = {name: EngineSettings(kind="kobold", url=f"http://{name}") for name in ("old", "new")}
    for name in ("old", "new"):
        assert one.keeper.load(servers[name])
        opening = one.openings.get(timeout=PATIENCE_S)
        one.keeper.lost(EngineUnavailable("It does not answer."))
        opening.end(succeeds=True)
        assert one.keeper.settings == servers[name]
        assert one.keeper.status.state == "ready"
    one.keeper.close()
    one.require_closed_once()


def test_a_lost_server_is_looked_for_again_when_the_engine_asked_for_since_fails() -> None:
    one = Workshop()
    assert one.keeper.load(EngineSettings(kind="kobold", url="http://old"))
    one.openings.get(timeout=PATIENCE_S).end(succeeds=True)
    failing = one.load("missing")
    assert failing is not None
    one.keeper.lost(EngineUnavailable("It does not answer."))
    failing.end(succeeds=False)
    assert one.keeper.status[0] == "away"
    one.openings.get(timeout=PATIENCE_S).end(succeeds=True)
    state, _, _, failure = one.keeper.status
    assert state == "ready"
    assert "missing" in failure
    one.keeper.close()
    one.require_closed_once()
