"""`halo-weave bench page`: does the page stay smooth while a large living context constantly changes colour?

To measure only the page, the engine has no model: it writes 30 tokens per second, and each step looks at different
tokens.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from halo_weave.bench.chromium import chromium
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Attention, Placed
from halo_weave.server.running import serving
from halo_weave.server.runtime.program import Program, SettingsLayers
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window

LIVING_TOKENS, TOKENS_PER_S, MEASURED_S = 20_000, 30, 10
_SENTENCE = "The lighthouse keeper wrote down the wind, the hour and the ships that passed the red buoy. "
_SETTINGS = {"weave.resurrection": "false", "generation.max_tokens": "4000"}
_FRAMES = """seconds => new Promise(resolve => {
  const frames = [];
  const step = now => {
    frames.push(now);
    if (now - frames[0] < 1000 * seconds) requestAnimationFrame(step);
    else resolve(frames);
  };
  requestAnimationFrame(step);
})"""
_FIRST_PAINT = """() => new Promise(resolve => {
  const isShown = () => document.querySelector('.turn .words > span') !== null;
  const look = () => isShown() ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(look);
  look();
})"""


class PageFigures(msgspec.Struct, frozen=True):
    """The page's loading times and frame rate.

    `first_paint_s` is the time from requesting the page until the window's tokens are painted. `cold_first_paint_s` is
    the same before the server has opened the window and with an empty browser cache. Frame figures are the browser's
    while a reply streams in.
    """

    living_tokens: int
    cold_first_paint_s: float
    first_paint_s: float
    frames_per_s: float
    median_frame_ms: float
    p95_frame_ms: float
    longest_frame_ms: float


def run(settings: Settings, notify: Progress, living_tokens: int = LIVING_TOKENS) -> PageFigures:
    del settings  # the page does not depend on them
    with tempfile.TemporaryDirectory(prefix="halo-bench-") as name, chromium() as browser:
        folder = Path(name)
        notify(f"filling a window with {living_tokens} tokens")
        living = _fill(folder, living_tokens)
        with _program(folder, step_seconds=1 / TOKENS_PER_S) as program, serving(program) as address:
            while program.keeper.status.state != "ready":
                time.sleep(0.05)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.add_init_script("localStorage.setItem('halo-view', 'weave')")
            page.goto(address, wait_until="commit")
            cold_ms = page.evaluate(_FIRST_PAINT)
            page.reload(wait_until="commit")
            first_paint_ms = page.evaluate(_FIRST_PAINT)
            page.get_by_label("Message", exact=True).fill("Go on.")
            page.get_by_label("Message", exact=True).press("Enter")
            page.locator("halo-writing .words", has_text="The lighthouse").wait_for()
            notify(f"measuring frames for {MEASURED_S} seconds")
            frames = np.diff(page.evaluate(_FRAMES, MEASURED_S))
    return PageFigures(
        living_tokens=living,
        cold_first_paint_s=round(cold_ms / 1000, 3),
        first_paint_s=round(first_paint_ms / 1000, 3),
        frames_per_s=round(1000 / float(frames.mean()), 1),
        median_frame_ms=round(float(np.median(frames)), 1),
        p95_frame_ms=round(float(np.percentile(frames, 95)), 1),
        longest_frame_ms=round(float(frames.max()), 1),
    )


def _fill(folder: Path, wanted: int) -> int:
    """Fill a window with many turns; return how many tokens live in it."""
    with _program(folder, step_seconds=0.0) as program:
        while program.keeper.status.state != "ready":
            time.sleep(0.05)
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
