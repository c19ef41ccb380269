"""`halo-weave bench turn`: the cost of a turn beyond the model's own work.

The memory is large and made up, and the messages need nothing from it; or it holds real conversations, and the messages
are questions about them. Then text returns, and it shows how much of it leaves again soon.
"""

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from halo_weave import paths
from halo_weave.bench.conversations import Conversations, read_conversations
from halo_weave.bench.policies.policies import spread
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import fill_memory, open_cached_embedder, read_all
from halo_weave.bench.scale.made_up_memory import DATABASE, made_up_memory
from halo_weave.config import Settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.protocol import GenerationSettings
from halo_weave.errors import InputError
from halo_weave.memory.embedders.embedder import open_embedder
from halo_weave.memory.memory import open_memory
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.session.hub import Hub
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.turn import send
from halo_weave.session.turn.turn_state import Figures
from halo_weave.session.window.events import Event
from halo_weave.session.window.words import ChunkSizes
from halo_weave.weave.settings import WeaveSettings

REPLY_TOKENS = 200
_WINDOW = WindowSettings(
    generation=GenerationSettings(max_tokens=REPLY_TOKENS, temperature=0.7, seed=1),
    weave=WeaveSettings(budget_tokens=1000),
)
_SOON_TURNS = 2
_SUBJECTS = ("a lighthouse", "a small town", "the sea", "an old clock", "a long winter", "two rivers", "a garden")


class TurnBenchFigures(msgspec.Struct, frozen=True):
    """The cost of a turn.

    `overhead_share` is our part of the time from sending to the last token shown. `decoded_per_turn_ratio` is the
    number of tokens that the model had to read per token that was new to it. `thrash_share` is the share of the chunks
    that returned and left again within two turns.
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
    returned_chunks: int
    thrash_share: float
    malformed_attention: int


class ReturnTracker:
    """Counts the chunks that return, and those that leave again within two turns, from the events of a window."""

    def __init__(self) -> None:
        self.returned = 0
        self.left_soon = 0
        self._turn = 0
        self._returned_in: dict[str, int] = {}

    def begin_turn(self) -> None:
        self._turn += 1

    def note(self, event: Event) -> None:
        keys = [str(chunk["key"]) for chunk in event.data.get("chunks", ())]
        if event.kind == "resurrected":
            self.returned += len(keys)
            self._returned_in.update(dict.fromkeys(keys, self._turn))
        elif event.kind == "buried":
            turns = (self._returned_in.pop(key, None) for key in keys)
            self.left_soon += sum(turn is not None and self._turn - turn < _SOON_TURNS for turn in turns)

    @property
    def thrash_share(self) -> float:
        return self.left_soon / self.returned if self.returned else 0.0


class _Talk(NamedTuple):
    """How many chunks the memory has, what to say, and the settings of the window."""

    chunks: int
    messages: Sequence[str]
    settings: WindowSettings


def run(settings: Settings, turns: int, notify: Progress, chunks: int, data: Path | None = None) -> TurnBenchFigures:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
        if data is None:
            _copy_memory(folder, settings, chunks, notify)
            talk = _Talk(chunks, [_story(number) for number in range(turns + 1)], _WINDOW)
        else:
            talk = _about_conversations(folder, settings, read_conversations(data), turns + 1, notify)
        engine = stack.enter_context(closing(open_engine(settings.engine)))
        memory = stack.enter_context(
            closing(open_memory(folder / DATABASE, settings.embedder, settings.search, settings.reader))
        )
        hub = Hub(engine, memory, talk.settings, ChunkSizes(settings.memory.chunk_min_tokens, 0))
        stack.enter_context(closing(hub))
        window = hub.open("bench")
        measured: list[Figures] = []
        returns = ReturnTracker()
        window.log.listen(returns.note)
        for number, message in enumerate(talk.messages):
            returns.begin_turn()
            reply = send(window, message)
            memory.settle()
            notify(f"turn {number} of {turns}: {reply.figures.generated} tokens in {reply.figures.reply_s:.1f} s")
            if number:  # the first one opens the embedder and the index files
                measured.append(reply.figures)
    return summary(measured, talk.chunks, returns)


def _story(number: int) -> str:
    return f"Write a long and detailed story of at least ten paragraphs about {_SUBJECTS[number % len(_SUBJECTS)]}."


def _about_conversations(
    folder: Path, settings: Settings, conversations: Conversations, messages: int, notify: Progress
) -> _Talk:
    """Fill a memory with conversations, and ask questions that are spread evenly over them."""
    if not conversations.questions:
        raise InputError("The file of conversations has no questions.")
    with (
        closing(open_cached_embedder(settings, notify)) as embedder,
        closing(SqliteStore(folder / DATABASE)) as store,
    ):
        fill_memory(store, embedder, conversations, notify)
        attention = read_all(settings, store, notify)
        if attention is not None:
            attention.close()
        chunks = store.stats().chunks
    places = spread(len(conversations.questions), messages)
    window = msgspec.structs.replace(_WINDOW, weave=settings.weave)
    return _Talk(chunks, [conversations.questions[place].text for place in places], window)


def _copy_memory(folder: Path, settings: Settings, chunks: int, notify: Progress) -> None:
    """Copy the cached made-up memory, which other benchmarks share, so that turns are written to a copy."""
    with closing(open_embedder(settings.embedder)) as embedder:
        kept = made_up_memory(paths.cache_folder() / "bench-scale", chunks, embedder, notify)
    shutil.copytree(kept.folder, folder, dirs_exist_ok=True)


def summary(measured: list[Figures], chunks: int, returns: ReturnTracker) -> TurnBenchFigures:
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
        returned_chunks=returns.returned,
        thrash_share=returns.thrash_share,
        malformed_attention=sum(one.malformed for one in measured),
    )
