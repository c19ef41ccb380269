"""`halo-weave bench page`: does the page stay smooth with a large living context, and with a very long conversation?

To measure only the page, the engine has no model: it writes 30 tokens per second, and each step looks at different
tokens. The long conversation is written straight into a memory of its own and scrolled through from its end.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from halo_weave.bench.chromium import chromium
from halo_weave.bench.long_window import write_long_window
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Attention, Placed
from halo_weave.server.running import serving
from halo_weave.server.runtime.program import Program, SettingsLayers
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LIVING_TOKENS, TOKENS_PER_S, MEASURED_S = 20_000, 30, 10
TURNS = 100_000
_KEYS, _MS_BETWEEN_KEYS = 60, 100
_SENTENCE = "The lighthouse keeper wrote down the wind, the hour and the ships that passed the red buoy. "
_SETTINGS = {"weave.resurrection": "false", "generation.max_tokens": "4000", "reader.kind": "off"}
_FRAMES = """seconds => new Promise(resolve => {
  const frames = [];
  const step = now => {
    frames.push(now);
    if (now - frames[0] < 1000 * seconds) requestAnimationFrame(step);
    else resolve(frames);
  };
  requestAnimationFrame(step);
})"""
_SCROLLED_FRAMES = """([seconds, pixels]) => new Promise(resolve => {
  const frames = [];
  const list = document.querySelector('.turns');
  const step = now => {
    frames.push(now);
    list.scrollTop -= pixels;
    if (now - frames[0] < 1000 * seconds) requestAnimationFrame(step);
    else resolve(frames);
  };
  requestAnimationFrame(step);
})"""
_PIXELS_PER_FRAME = 60
_NOTE_LATENCIES = """() => {
  globalThis.latencies = [];
  document.querySelector('halo-composer textarea').addEventListener('keydown', ({ timeStamp }) => {
    const painted = new MessageChannel();
    painted.port1.onmessage = () => latencies.push(performance.now() - timeStamp);
    requestAnimationFrame(() => painted.port2.postMessage(null));
  });
}"""
_FIRST_PAINT = """selector => new Promise(resolve => {
  const isShown = () => document.querySelector(selector) !== null;
  const look = () => isShown() ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(look);
  look();
})"""


class PageFigures(msgspec.Struct, frozen=True):
    """The page's loading times and frame rate.

    `first_paint_s` is the time from requesting the page until the window's tokens are painted. `cold_first_paint_s` is
    the same before the server has opened the window and with an empty browser cache. Frame figures are the browser's
    while a reply streams in, and `input_latency_ms_p95` is the time from a key press to the next painted frame then.
    Figures of the conversation are of a window with so many turns in the read view, while it is scrolled up from its
    end past `conversation_turns_scrolled` of them. Its first paint is of the text, before its Markdown is rendered.
    """

    living_tokens: int
    cold_first_paint_s: float
    first_paint_s: float
    frames_per_s: float
    median_frame_ms: float
    p95_frame_ms: float
    longest_frame_ms: float
    input_latency_ms_p95: float
    conversation_turns: int
    conversation_cold_first_paint_s: float
    conversation_first_paint_s: float
    conversation_p95_frame_ms: float
    conversation_longest_frame_ms: float
    conversation_turns_scrolled: int


class _Streaming(msgspec.Struct, frozen=True):
    living_tokens: int
    cold_ms: float
    first_paint_ms: float
    frames: list[float]
    latencies: list[float]


class _Scrolling(msgspec.Struct, frozen=True):
    cold_ms: float
    first_paint_ms: float
    frames: list[float]
    turns: int


def run(settings: Settings, notify: Progress, living_tokens: int = LIVING_TOKENS, turns: int = TURNS) -> PageFigures:
    del settings  # the page does not depend on them
    with chromium() as browser:
        streaming = _measure_streaming(browser, notify, living_tokens)
        scrolling = _measure_scrolling(browser, notify, turns)
    frames, scrolled = np.diff(streaming.frames), np.diff(scrolling.frames)
    return PageFigures(
        living_tokens=streaming.living_tokens,
        cold_first_paint_s=round(streaming.cold_ms / 1000, 3),
        first_paint_s=round(streaming.first_paint_ms / 1000, 3),
        frames_per_s=round(1000 / float(frames.mean()), 1),
        median_frame_ms=round(float(np.median(frames)), 1),
        p95_frame_ms=round(float(np.percentile(frames, 95)), 1),
        longest_frame_ms=round(float(frames.max()), 1),
        input_latency_ms_p95=round(float(np.percentile(streaming.latencies, 95)), 1),
        conversation_turns=turns,
        conversation_cold_first_paint_s=round(scrolling.cold_ms / 1000, 3),
        conversation_first_paint_s=round(scrolling.first_paint_ms / 1000, 3),
        conversation_p95_frame_ms=round(float(np.percentile(scrolled, 95)), 1),
        conversation_longest_frame_ms=round(float(scrolled.max()), 1),
        conversation_turns_scrolled=scrolling.turns,
    )


def _measure_streaming(browser: "Browser", notify: Progress, living_tokens: int) -> _Streaming:
    with tempfile.TemporaryDirectory(prefix="halo-bench-") as name:
        folder = Path(name)
        notify(f"filling a window with {living_tokens} tokens")
        living = _fill(folder, living_tokens)
        with _program(folder, step_seconds=1 / TOKENS_PER_S) as program, serving(program) as address:
            _wait_until_ready(program)
            page = _new_page(browser, "weave")
            page.goto(address, wait_until="commit")
            cold_ms = page.evaluate(_FIRST_PAINT, ".turn .words > span")
            page.reload(wait_until="commit")
            first_paint_ms = page.evaluate(_FIRST_PAINT, ".turn .words > span")
            page.get_by_label("Message", exact=True).fill("Go on.")
            page.get_by_label("Message", exact=True).press("Enter")
            page.locator("halo-writing .words", has_text="The lighthouse").wait_for()
            notify(f"measuring frames for {MEASURED_S} seconds")
            frames = page.evaluate(_FRAMES, MEASURED_S)
            notify(f"measuring {_KEYS} key presses")
            page.evaluate(_NOTE_LATENCIES)
            page.keyboard.type("a" * _KEYS, delay=_MS_BETWEEN_KEYS)
            page.wait_for_function("wanted => latencies.length >= wanted", arg=_KEYS)
            latencies = page.evaluate("latencies")
            page.context.close()
    return _Streaming(living, cold_ms, first_paint_ms, frames, latencies)


def _measure_scrolling(browser: "Browser", notify: Progress, turns: int) -> _Scrolling:
    with tempfile.TemporaryDirectory(prefix="halo-bench-") as name:
        folder = Path(name)
        notify(f"writing a conversation of {turns} turns")
        last = datetime(2026, 1, 1, tzinfo=UTC)
        write_long_window(folder / "halo.db", "main", turns, lambda number: f"Turn {number}. {_SENTENCE * 3}", last)
        with _program(folder, step_seconds=0.0) as program, serving(program) as address:
            _wait_until_ready(program)
            page = _new_page(browser, "read")
            page.goto(address, wait_until="commit")
            cold_ms = page.evaluate(_FIRST_PAINT, ".turn .chunk")
            page.reload(wait_until="commit")
            first_paint_ms = page.evaluate(_FIRST_PAINT, ".turn .chunk")
            page.locator(".chunk .rendered").last.wait_for()
            notify(f"scrolling for {MEASURED_S} seconds")
            frames = page.evaluate(_SCROLLED_FRAMES, [MEASURED_S, _PIXELS_PER_FRAME])
            first = page.locator(".chunk").first.get_attribute("data-key") or ""
            page.context.close()
    return _Scrolling(cold_ms, first_paint_ms, frames, turns - int(first.partition(".")[0]))


def _new_page(browser: "Browser", view: str) -> "Page":
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.add_init_script(f"localStorage.setItem('halo-view', '{view}')")
    return page


def _wait_until_ready(program: Program) -> None:
    while program.keeper.status.state != "ready":
        time.sleep(0.05)


def _fill(folder: Path, wanted: int) -> int:
    """Fill a window with many turns; return how many tokens live in it."""
    with _program(folder, step_seconds=0.0) as program:
        _wait_until_ready(program)
        window = program.hub.open("main")
        while (living := _living(window)) < wanted:
            send(window, _SENTENCE * 20)
        program.close()
        return living


def _living(window: Window) -> int:
    return sum(len(chunk.tokens) for chunk in window.life.context)


@contextmanager
def _program(folder: Path, step_seconds: float) -> Iterator[Program]:
    changing = np.random.default_rng(1)

    def attention(tokens: Sequence[Placed]) -> Attention:
        row: Attention = changing.random(len(tokens), dtype=np.float32) ** 8
        row /= row.sum()
        return row

    # Short questions and one long reply: most visible text is then older, and is recoloured all the time.
    replies = ["Noted."] * 10_000 if not step_seconds else [_SENTENCE * 200]
    engine = EchoEngine(replies, attention=attention, context_tokens=65_536, step_seconds=step_seconds)
    overrides = {"memory.path": str(folder / "halo.db"), **_SETTINGS}
    yield Program(SettingsLayers(overrides, {}, folder / "config.toml"), lambda _: engine)
