"""Chunks return from the graveyard with the brightness of each token, and never below their starting brightness."""

import sqlite3
from pathlib import Path

import numpy as np

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.sqlite.rows import checksum
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS
from halo_weave.weave.context import Context, LiveChunk
from halo_weave.weave.resurrection import Candidate, plan
from support.windows import opened_hub, weave

EARNED = weave(resurrection_brightness="earned")
PATH = "halo.db"


def buried(window: Window) -> LiveChunk:
    """Return a window's question, buried and saved, with a different brightness for each token."""
    send(window, "How long is the river?")
    chunk = next(iter(window.life.context))
    chunk.state[0] = np.linspace(9_940, 10_000, len(chunk.tokens))
    window.life.hold(())
    window.set_overrides({"weave.budget_tokens": 1})
    assert len(window.life.context) == 0
    return chunk


def return_to(window: Window, chunk: LiveChunk) -> list[float]:
    dormant = window.life.dormant([chunk.key], {})
    starting = window.life.starting_brightness()
    window.life.revive(plan([Candidate(chunk.key, 1.0)], frozenset(), dormant, budget=1000, starting=starting))
    returned: list[float] = window.life.context[chunk.key].brightness.tolist()
    return returned


def test_each_token_returns_with_the_brightness_that_it_had(tmp_path: Path) -> None:
    with opened_hub(tmp_path / PATH, EchoEngine(["Long."]), EARNED) as hub:
        window = hub.open("river")
        chunk = buried(window)
        hub.close_window(window)
        assert return_to(hub.open("river"), chunk) == chunk.brightness.tolist()
        assert window.memory.store.verify() == []


def test_a_burial_of_an_earlier_version_returns_with_its_peak(tmp_path: Path) -> None:
    with opened_hub(tmp_path / PATH, EchoEngine(["Long."]), EARNED) as hub:
        chunk = buried(hub.open("river"))
    connection = sqlite3.connect(tmp_path / PATH)
    with connection:
        rows = connection.execute("SELECT * FROM burials").fetchall()
        connection.execute("DELETE FROM burials")
        for *row, _, _ in rows:
            written = checksum(tuple(row))
            connection.execute("INSERT INTO burials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", (*row, written))
    connection.close()
    with opened_hub(tmp_path / PATH, EchoEngine(), EARNED) as hub:
        assert set(return_to(hub.open("river"), chunk)) == {chunk.peak}


def test_in_an_empty_window_what_returns_starts_like_new_text() -> None:
    assert Context().mean_brightness() == NEW_BRIGHTNESS
