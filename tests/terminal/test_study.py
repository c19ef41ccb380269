"""A capture becomes one page that shows its content and runs none of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from halo_weave import cli
from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.actions.capture import start_capture, stop_capture
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from halo_weave.terminal.study.collecting import Studied, StudiedChunk, collect
from halo_weave.terminal.study.drawing import draw
from halo_weave.weave.captured import INDEX_FILE, Captured, CapturedRecord
from support.windows import living, opened_hub, weave

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\"> & \u2028 ok"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    engine = EchoEngine(["The river is long. <b>Very</b> long indeed."] * 9)
    with opened_hub(tmp_path / "halo.db", engine, weave(budget_tokens=120, keeps_by="brightness")) as hub:
        yield hub


@pytest.fixture
def window(hub: Hub) -> Window:
    return hub.open(f"river {HOSTILE[:40]}")


@pytest.fixture
def capture(window: Window, tmp_path: Path) -> Path:
    """Seven turns in a context for about three; one chunk is resurrected by hand, and one is deleted."""
    start_capture(window, tmp_path / "captured")
    send(window, f"First of all: {HOSTILE}")
    for number in range(4):
        send(window, f"How long is river number {number}?")
    actions.resurrect(window, buried(window))
    send(window, "And the next river?")
    actions.delete(window, newest_message(window))
    stop_capture(window)
    return tmp_path / "captured"


def newest_message(window: Window) -> ChunkKey:
    return [key for key, text in living(window) if text == "And the next river?"][-1]


def buried(window: Window) -> ChunkKey:
    return next(iter(window.life.burial_log))


def chunk_of(studied: Studied, text: str) -> StudiedChunk:
    return next(chunk for chunk in studied.chunks if text in chunk.text)


def test_attention_of_a_step_is_shared_out_among_its_chunks(capture: Path) -> None:
    captured = Captured(capture)
    studied = collect(captured)
    steps = list(captured.steps())
    contexts = [one for one in captured if isinstance(one, CapturedRecord) and one.kind == "context"]
    assert len(studied.replies) == len(contexts) == 6
    assert len(studied.steps) == len(steps) == len(studied.attention)
    for reply, context in zip(studied.replies, contexts, strict=True):
        for number in range(reply.first, reply.end):
            row = steps[number].attention
            assert row is not None
            inside = np.zeros(len(row), dtype=bool)
            for one in context.data["chunks"]:
                inside[one["start"] : one["end"]] = True
            inside[len(context.data["ids"]) :] = True
            assert studied.attention[number].sum() == pytest.approx(row[inside].sum(), abs=1e-3)
    first = studied.replies[0]
    asked = chunk_of(studied, "First of all")
    (own,) = contexts[0].data["chunks"]
    row = steps[first.first].attention
    assert row is not None
    place = studied.chunks.index(asked)
    assert studied.attention[first.first, place] == pytest.approx(row[own["start"] : own["end"]].sum(), abs=1e-5)


def test_every_word_of_a_reply_is_known_by_the_chunk_that_it_became(capture: Path) -> None:
    studied = collect(Captured(capture))
    for number, chunk in enumerate(studied.chunks):
        words = [studied.steps[step] for step, writer in enumerate(studied.writers) if writer == number]
        assert "".join(words) == (chunk.text if chunk.role == "assistant" else "")


def test_a_chunk_lives_from_its_message_to_its_burial_and_again_from_its_return(capture: Path) -> None:
    studied = collect(Captured(capture))
    returned = next(one for one in studied.chunks if [mark.kind for mark in one.marks][:2] == ["buried", "returned"])
    burial, back = returned.marks[:2]
    assert burial.why
    assert returned.lives[0][1] == burial.step
    assert returned.lives[1][0] == back.step
    assert burial.step <= back.step
    deleted = chunk_of(studied, "And the next river?")
    assert deleted.marks[-1].kind == "deleted"
    assert not deleted.is_living
    assert any(one.is_living for one in studied.chunks)


def test_the_page_holds_all_and_lets_nothing_in(capture: Path) -> None:
    page = draw(collect(Captured(capture)))
    scripts = re.findall(r"<script[^>]*>", page)
    assert scripts == ['<script type="application/json" id="data">', "<script>"]
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert re.search(r"6 replies, \d+ steps, \d+ chunks, [1-9]\d* archived, [1-9]\d* returned", page)


def test_a_capture_that_was_cut_off_is_drawn_as_far_as_it_goes(capture: Path) -> None:
    whole = collect(Captured(capture))
    index = capture / INDEX_FILE
    lines = index.read_bytes().splitlines(keepends=True)
    for count in (0, 1, 2, 5, len(lines) // 2):
        index.write_bytes(b"".join(lines[:count]))
        studied = collect(Captured(capture))
        assert len(studied.steps) <= len(whole.steps)
        assert draw(studied).endswith("</html>\n")


def test_the_command_writes_one_file_and_says_where(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", str(capture)]) == 0
    target = capture.with_name("captured.html")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(target) in capsys.readouterr().out
    assert cli.main(["study", str(capture), "--out", str(capture / "missing" / "page.html")]) == 2
    assert "Cannot write the study to" in capsys.readouterr().err
    assert cli.main(["study", str(capture / "nothing")]) == 2


def test_the_page_draws_itself_from_a_file_without_error_or_request(
    capture: Path, window: Window, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "study.html"
    studied = collect(Captured(capture))
    path.write_text(draw(studied), encoding="utf-8")
    assert living(window)
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.dataset.drawn") == str(len(studied.chunks))
    assert page.title().startswith("river")
    ink = "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
    for canvas in ("#map", "#looks"):
        assert page.locator(canvas).evaluate(ink) > 10
    page.locator("#map").hover(position={"x": 30, "y": 28})
    assert "First of all: </script>" in page.locator("#card").inner_text()
    page.get_by_label("attention received").check()
    page.locator("#map").click(position={"x": 400, "y": 28})
    assert "brightness" in page.locator("#card").inner_text()
    assert faults == []
    context.close()
