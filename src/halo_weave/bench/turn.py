"""`halo-weave bench turn`: the cost of a turn beyond the model's own work, with a large memory."""

import shutil
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import msgspec

from halo_weave import paths
from halo_weave.bench.progress import Progress
from halo_weave.bench.scale.made_up_memory import DATABASE, made_up_memory
from halo_weave.config import Settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.protocol import GenerationSettings
from halo_weave.memory.embedders.embedder import open_embedder
from halo_weave.memory.memory import open_memory
from halo_weave.session.hub import Hub
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.turn import send
from halo_weave.session.turn.turn_state import Figures
from halo_weave.session.window.words import ChunkSizes
from halo_weave.weave.settings import WeaveSettings

REPLY_TOKENS = 200
_WINDOW = WindowSettings(
    generation=GenerationSettings(max_tokens=REPLY_TOKENS, temperature=0.7, seed=1),
    weave=WeaveSettings(budget_tokens=1000),
)
_SUBJECTS = ("a lighthouse", "a small town", "the sea", "an old clock", "a long winter", "two rivers", "a garden")


class TurnBenchFigures(msgspec.Struct, frozen=True):
    """The cost of a turn.

    `overhead_share` is our part of the time from sending to the last token shown. `decoded_per_turn_ratio` is the
    number of tokens that the model had to read per token that was new to it.
    """

    memory_chunks: int
    turns: int
    reply_tokens: float
    overhead_share: float
    decoded_per_turn_ratio: float
    search_s: float
    first_token_s: float
    reply_s: float
    after_reply_s: float
    resurrected_tokens: float
    malformed_attention: int


def run(settings: Settings, turns: int, notify: Progress, chunks: int) -> TurnBenchFigures:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
        _copy_memory(folder, settings, chunks, notify)
        engine = stack.enter_context(closing(open_engine(settings.engine)))
        memory = stack.enter_context(closing(open_memory(folder / DATABASE, settings.embedder, settings.search)))
        hub = Hub(engine, memory, _WINDOW, ChunkSizes(settings.memory.chunk_min_tokens, 0))
        stack.enter_context(closing(hub))
        window = hub.open("bench")
        measured: list[Figures] = []
        for number in range(turns + 1):
            subject = _SUBJECTS[number % len(_SUBJECTS)]
            reply = send(window, f"Write a long and detailed story of at least ten paragraphs about {subject}.")
            memory.settle()
            notify(f"turn {number} of {turns}: {reply.figures.generated} tokens in {reply.figures.reply_s:.1f} s")
            if number:  # the first one opens the embedder and the index files
                measured.append(reply.figures)
    return summary(measured, chunks)


def _copy_memory(folder: Path, settings: Settings, chunks: int, notify: Progress) -> None:
    """Copy the cached made-up memory, which other benchmarks share, so that turns are written to a copy."""
    with closing(open_embedder(settings.embedder)) as embedder:
        kept = made_up_memory(paths.cache_folder() / "bench-scale", chunks, embedder, notify)
    shutil.copytree(kept.folder, folder, dirs_exist_ok=True)


def summary(measured: list[Figures], chunks: int) -> TurnBenchFigures:
    total = sum(one.reply_s for one in measured)
    return TurnBenchFigures(
        memory_chunks=chunks,
        turns=len(measured),
        reply_tokens=median(one.generated for one in measured),
        overhead_share=sum(one.reply_s - one.engine_s for one in measured) / total,
        decoded_per_turn_ratio=sum(one.decoded for one in measured)
        / sum(one.new + one.resurrected for one in measured),
        search_s=median(one.search_s for one in measured),
        first_token_s=median(one.first_token_s for one in measured),
        reply_s=median(one.reply_s for one in measured),
        after_reply_s=median(one.after_reply_s for one in measured),
        resurrected_tokens=median(one.resurrected for one in measured),
        malformed_attention=sum(one.malformed for one in measured),
    )
