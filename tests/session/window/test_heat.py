"""What the newest message looks at in the context, with the real reader, and the order in which chunks would leave."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.session.actions import actions
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.heat import looks_of_newest_message, order_of_leaving
from support.windows import PLAIN, long_text, opened_hub, with_section

SAID = (
    "My cat Miso sleeps on the warm router.",
    "The ferry to the island was late because of the crane.",
    "I bake bread with rye flour; the sour dough is from my aunt Ida.",
)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", EchoEngine(["I see."] * 20), reader=ReaderSettings()) as hub:
        hub.open("main").memory.open_reader()
        yield hub


def test_the_newest_message_looks_most_at_the_words_that_it_is_about(hub: Hub) -> None:
    window = hub.open("main")
    for text in SAID:
        send(window, text)
    for question, about in (("Where does my cat Miso sleep?", "Miso"), ("Who gave me the sour dough?", "sour dough")):
        window.memory.settle()
        send(window, question)
        looks = looks_of_newest_message(window)
        assert sum(float(shares.sum()) for shares in looks.values()) == pytest.approx(1, abs=1e-3)
        most = max(looks, key=lambda key: float(looks[key].max()))
        assert about in window.life.context[most].text
        for key, shares in looks.items():
            assert len(shares) == len(window.life.context[key].tokens)
            assert window.newest is not None
            assert key.turn < window.newest.turn_user


def test_nothing_is_looked_at_before_the_first_answer_or_without_a_reader(hub: Hub, tmp_path: Path) -> None:
    assert looks_of_newest_message(hub.open("main")) == {}
    send(hub.open("main"), SAID[0])
    assert looks_of_newest_message(hub.open("main")) == {}
    with opened_hub(tmp_path / "other.db", EchoEngine(["I see."] * 9)) as without:
        for text in SAID:
            send(without.open("main"), text)
        assert looks_of_newest_message(without.open("main")) == {}


def test_what_was_deleted_gets_no_share(hub: Hub) -> None:
    window = hub.open("main")
    for text in SAID:
        send(window, text)
    window.memory.settle()
    first = next(iter(window.life.context)).key
    assert first in looks_of_newest_message(window)
    actions.delete(window, first)
    window.memory.settle()
    assert not {key for key in looks_of_newest_message(window) if key.turn == first.turn}


def test_chunks_leave_in_the_order_that_is_shown(tmp_path: Path) -> None:
    settings = with_section(PLAIN, "generation", max_tokens=60)
    with opened_hub(tmp_path / "halo.db", EchoEngine([long_text(12)] * 9), settings) as hub:
        window = hub.open("main")
        for text in SAID:
            send(window, text)
        pinned = next(iter(window.life.context)).key
        actions.pin(window, pinned)
        order = order_of_leaving(window)
        assert len(order) > 4
        assert pinned not in order
        assert not {key.turn for key in order} & {turn.turn for turn in window.life.current}
        window.set_overrides({"weave.budget_tokens": window.tokens // 2})
        buried = {burial.key for burial in window.life.burial_log.values()}
        assert buried == set(order[: len(buried)])
        assert np.all([key in window.life.context for key in order[len(buried) :]])
