"""Captures what the model saw and attended to, and reads it back."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from halo_weave import cli
from halo_weave.engine.echo import EchoEngine, fading_attention
from halo_weave.engine.protocol import Placed
from halo_weave.errors import InputError
from halo_weave.session.actions import actions
from halo_weave.session.actions.capture import start_capture, stop_capture
from halo_weave.session.actions.capture_forgetting import remove_captures_with
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from halo_weave.weave.captured import ATTENTION_FILE, HEADER_FILE, INDEX_FILE, Captured, CapturedRecord, CapturedStep
from support.windows import living, notices, opened_hub, stored_text, weave


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", settings=weave(budget_tokens=120)) as hub:
        yield hub


@pytest.fixture
def window(hub: Hub) -> Window:
    return hub.open("river")


def records(captured: Captured, kind: str) -> list[CapturedRecord]:
    return [one for one in captured if isinstance(one, CapturedRecord) and one.kind == kind]


def test_forgetting_removes_captures_that_have_a_word_of_it_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    captures = tmp_path / "captures"
    with opened_hub(tmp_path / "halo.db") as hub:
        for name, message in (("secret", "The password is heron."), ("other", "How long is the river?")):
            window = hub.open(name)
            start_capture(window, captures / name)
            send(window, message)
            stop_capture(window)
        (chunk, *_) = hub.open("secret").life.context
    assert (captures / "secret" / INDEX_FILE).exists()
    assert cli.main(["memory", "forget", str(chunk.key.turn), "--yes"]) == 0
    assert f"The capture {captures / 'secret'} contained this text and was removed." in capsys.readouterr().out
    assert [folder.name for folder in captures.iterdir()] == ["other"]
    assert len(list(Captured(captures / "other").steps())) > 1


def test_the_words_of_a_forgotten_reply_leave_with_the_capture_that_has_its_steps(
    window: Window, tmp_path: Path
) -> None:
    start_capture(window, tmp_path / "captures" / "one")
    send(window, "How long is the river?")
    stop_capture(window)
    newest = window.newest
    assert newest is not None
    reply = [stored.chunk for stored in window.memory.chunks_of_turn(newest.turn_assistant)]
    others = [stored.chunk for stored in window.memory.chunks_of_turn(newest.turn_user)]
    elsewhere = [msgspec.structs.replace(chunk, first_position=10**30, text=chunk.text[::-1]) for chunk in others]
    assert remove_captures_with(elsewhere, tmp_path / "captures") == []
    assert remove_captures_with(reply, tmp_path / "captures") == [tmp_path / "captures" / "one"]
    assert list((tmp_path / "captures").iterdir()) == []


def test_a_capture_has_every_step_with_its_token_and_attention(window: Window, tmp_path: Path) -> None:
    start_capture(window, tmp_path / "captured")
    reply = send(window, "How long is the river?")
    seen = [placed.token_id for placed in window.life.layout().placed]
    stop_capture(window)
    send(window, "This is not captured.")
    captured = Captured(tmp_path / "captured")
    steps = list(captured.steps())
    assert "".join(step.text for step in steps) == reply.text
    assert [step.position for step in steps[:-1]] == list(range(steps[0].position or 0, (steps[-2].position or 0) + 1))
    (context,) = records(captured, "context")
    assert context.data["ids"] == seen[: len(context.data["ids"])]
    count = len(context.data["ids"])
    for number, step in enumerate(steps):
        assert step.attention is not None
        assert len(step.attention) == count + number
        held = [Placed(place, token) for place, token in enumerate(seen[: count + number])]
        np.testing.assert_allclose(step.attention, fading_attention(held), rtol=2e-3)
    assert captured.header.model == "echo"
    assert captured.header.name == "river"
    (question,) = context.data["chunks"]
    assert "".join(question["pieces"]) == "How long is the river?"
    assert context.data["ids"][question["start"] : question["end"]] == [
        token.id for token in window.engine.tokenize("How long is the river?")
    ]


def test_what_happens_in_the_window_is_captured_in_its_place(window: Window, tmp_path: Path) -> None:
    start_capture(window, tmp_path / "captured")
    for _ in range(4):
        send(window, "How long is the river?")
    actions.pin(window, living(window)[0][0])
    stop_capture(window)
    captured = Captured(tmp_path / "captured")
    assert records(captured, "buried")
    assert len(records(captured, "pinned")) == 1
    assert len(records(captured, "context")) == 4
    order = [one.kind if isinstance(one, CapturedRecord) else "step" for one in captured]
    assert order.index("message") < order.index("context") < order.index("step") < order.index("reply")


def test_a_folder_that_is_there_is_not_written_to(window: Window, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already exists"):
        start_capture(window, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Cannot write the capture"):
        start_capture(window, tmp_path / "file" / "folder")
    assert window.recorder is None


def test_a_window_is_captured_once_at_a_time(window: Window, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not being captured"):
        stop_capture(window)
    start_capture(window, tmp_path / "one")
    with pytest.raises(InputError, match="already being captured"):
        start_capture(window, tmp_path / "two")
    stop_capture(window)
    start_capture(window, tmp_path / "two")


def test_closing_a_window_ends_its_capture(hub: Hub, window: Window, tmp_path: Path) -> None:
    start_capture(window, tmp_path / "captured")
    send(window, "How long is the river?")
    hub.close_window(window)
    assert len(list(Captured(tmp_path / "captured").steps())) > 3


def test_a_full_disk_ends_the_capture_and_not_the_chat(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    with opened_hub(tmp_path / "halo.db", EchoEngine(["word " * 180])) as hub:
        window = hub.open("river")
        start_capture(window, tmp_path / "captured")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = 2 * (tmp_path / "halo.db-wal").stat().st_size + 1_000_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with (tmp_path / "captured" / ATTENTION_FILE).open("r+b") as file:
                file.truncate(limit - 5000)
                window.recorder._attention.seek(limit - 5000)  # type: ignore[union-attr]
            reply = send(window, "How long is the river?")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (reply.ending, len(reply.text)) == ("length", len(stored_text(window.memory, 2)))
        assert any("The capture stopped: File too large" in notice for notice in notices(window))
        stop_capture(window)
        assert 0 < len(list(Captured(tmp_path / "captured").steps())) < 200


@pytest.mark.parametrize("lost", [1, 30, 200])
def test_what_was_cut_off_at_the_end_is_left_out(window: Window, tmp_path: Path, lost: int) -> None:
    folder = tmp_path / "captured"
    start_capture(window, folder)
    send(window, "How long is the river?")
    stop_capture(window)
    whole = [one for one in Captured(folder) if isinstance(one, CapturedStep)]
    for name in (INDEX_FILE, ATTENTION_FILE):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:-lost])
    left = list(Captured(folder).steps())
    assert [step.text for step in left] == [step.text for step in whole[: len(left)]]
    assert left[0].attention is not None


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not contain a capture"):
        Captured(tmp_path)
    (tmp_path / HEADER_FILE).write_text("{}")
    with pytest.raises(InputError, match="not a valid capture header"):
        Captured(tmp_path)
    (tmp_path / HEADER_FILE).write_text(
        '{"format": 9, "program": "", "window": "", "name": "", "model": "", "scorer": "",'
        ' "started_at": "2026-01-01T00:00:00Z"}'
    )
    with pytest.raises(InputError, match="has format 9"):
        Captured(tmp_path)
