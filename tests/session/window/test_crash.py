"""A process killed in the middle of a reply loses at most its last quarter of a second, and never a complete reply."""

import json
import os
import random
import time
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.memory import open_memory
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import continue_reply, send
from support.endings import Ended, ending_before_write
from support.windows import (
    SIZES,
    WORDS_ALONE,
    Clock,
    is_ascending,
    kinds,
    living,
    long_text,
    notices,
    opened_hub,
    stored_text,
    weave,
)
from support.workers.window_worker import CONTEXT, SETTINGS, WINDOW, start_worker

FULL = bool(os.environ.get("HALO_TEST_FULL"))
KILLS = 50 if FULL else 4
LOST_AT_MOST_S = 0.25
"""On an idle machine: 0.1 s between two journal notes, plus the time to write one."""
ALLOWED_S = LOST_AT_MOST_S if FULL else 4 * LOST_AT_MOST_S


def shown_until_killed(path: Path, seconds: float) -> tuple[int, str]:
    """Return the message's turn, and everything that the worker showed long enough before it was killed."""
    with start_worker(path) as worker:
        assert worker.stdout is not None
        message = json.loads(worker.stdout.readline())
        assert message[1] == "message"
        time.sleep(seconds)
        killed_at = time.monotonic()
        worker.kill()
        lines = [line for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    tokens = [json.loads(line) for line in lines]
    return int(message[2]), "".join(text for shown, _, _, text in tokens if shown <= killed_at - ALLOWED_S)


def test_what_was_shown_before_a_kill_is_there_again_and_the_chat_goes_on(tmp_path: Path) -> None:
    choose = random.Random(7)
    path = tmp_path / "halo.db"
    something = 0
    for _ in range(KILLS):
        turn, shown = shown_until_killed(path, choose.uniform(0.1, 0.8) + ALLOWED_S)
        with opened_hub(path, EchoEngine(["And so on.", "Yes."], context_tokens=CONTEXT), SETTINGS) as hub:
            window = hub.open(WINDOW)
            assert stored_text(window.memory, turn) == "Tell me a very long story."
            kept = stored_text(window.memory, turn + 1)
            assert kept.startswith(shown)
            something += len(shown)
            stored = window.memory.chunks_of_turn(turn + 1)
            assert {(entry.chunk.metadata or {})["ending"] for entry in stored} == {"interrupted"}
            assert any("interrupted" in notice for notice in notices(window))
            assert window.memory.store.verify() == []
            assert is_ascending(window.life.layout().placed)
            assert continue_reply(window).text == "And so on."
            assert stored_text(window.memory, turn + 1) == kept + "And so on."
            assert send(window, "Is that so?").text == "Yes."
    assert something > 10 * KILLS


def test_wherever_the_process_ends_after_a_reply_was_shown_all_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply lives or is buried, and can be continued."""
    number = 0
    while is_cut_off(tmp_path / f"{number}.db", monkeypatch, number):
        number += 1
    assert number > 1


def is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> bool:
    """Check the invariants after a process ends before write `number`; return whether there are that many writes."""
    is_ended, answer, settings = False, long_text(3), weave(budget_tokens=150)
    with closing(open_memory(path, WORDS_ALONE)) as memory:
        window = Hub(EchoEngine([long_text(3, "ocean"), answer]), memory, settings, SIZES, Clock()).open(WINDOW)
        send(window, "Tell me of oceans.")
        before = window.log.last_number
        try:
            with ending_before_write(monkeypatch, number, lambda: "reply" in kinds(window, before)):
                send(window, "Tell me of rivers.")
        except Ended:
            is_ended = True
    with opened_hub(path, EchoEngine([" And on."]), settings) as hub:
        window = hub.open(WINDOW)
        assert stored_text(window.memory, 4) == answer
        stored = {entry.chunk.key for entry in window.memory.store.chunks_from(0, 1000)}
        assert {key for key, _ in living(window)} | window.life.burial_log.keys() == stored
        assert notices(window) == []
        assert continue_reply(window).turn == 4
        assert stored_text(window.memory, 4) == answer + " And on."
        assert window.memory.store.verify() == []
    return is_ended
