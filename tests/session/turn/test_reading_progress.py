"""While the model reads a long context, the window says how far it is and how long it takes."""

from pathlib import Path

from halo_weave.session.turn.reading_progress import ReadingProgress
from halo_weave.session.turn.turn import send
from halo_weave.session.window.events import EventLog
from support.windows import opened_hub


def told(log: EventLog) -> list[dict[str, object]]:
    return [event.data for event in log.since(0) or [] if event.kind == "status" and "total" in event.data]


def test_tokens_and_seconds_left_are_told_but_not_more_often_than_anyone_reads() -> None:
    log, now = EventLog(), [0.0]
    progress = ReadingProgress(log, lambda: now[0])
    for seconds, read in ((2.0, 500), (2.1, 600), (4.0, 1000), (300.0, 1500), (600.0, 2000)):
        now[0] = seconds
        progress.show(read, 2000)
    assert [(one["read"], one["total"], one["seconds_left"]) for one in told(log)] == [
        (500, 2000, 6.0),
        (1000, 2000, 4.0),
        (1500, 2000, 100.0),
    ]
    assert told(log)[0]["text"] == "reading: 500 of 2,000 tokens, about 6 s left"
    assert told(log)[2]["text"] == "reading: 1,500 of 2,000 tokens, about 2 min left"


def test_a_short_reading_and_its_last_token_are_not_worth_a_word() -> None:
    log = EventLog()
    progress = ReadingProgress(log, lambda: 1.0)
    progress.show(31, 32)
    progress.show(200, 255)
    progress.show(599, 600)
    assert told(log) == []


def test_a_turn_with_a_long_message_tells_how_far_its_reading_is(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("river")
        send(window, "word " * 300)
        (first, *_) = told(window.log)
        assert isinstance(first["total"], int)
        assert first["total"] > 300
        assert first["read"] == 64
