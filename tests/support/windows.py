"""Windows for tests, on a real memory file and by default with the echo engine."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from halo_weave.engine.echo import EchoEngine, fading_attention
from halo_weave.engine.protocol import Attention, Engine, GenerationSettings, Placed
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.memory import Memory, open_memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.hub import Hub
from halo_weave.session.settings import ChatSettings, WindowSettings, with_overrides
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import ChunkSizes
from halo_weave.tools.registry import Toolbox
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.settings import WeaveSettings

WORDS_ALONE = EmbedderSettings(kind="gguf", model="/no/such/embedder.gguf")
SIZES = ChunkSizes(min_tokens=8, max_tokens=0)
PLAIN = WindowSettings(
    chat=ChatSettings(system_prompt="Be kind."),
    generation=GenerationSettings(max_tokens=200),
    weave=WeaveSettings(resurrection=False),
)


class Happening:
    """Attention for the echo engine that runs a callback at a given step, counted from 0 over all replies."""

    def __init__(self) -> None:
        self.steps = 0
        self.at: dict[int, Callable[[], object]] = {}

    def __call__(self, tokens: Sequence[Placed]) -> Attention:
        happens = self.at.get(self.steps)
        self.steps += 1
        row = None if happens is None else happens()
        return row if isinstance(row, np.ndarray) else fading_attention(tokens)


class Clock:
    """A clock that advances by one minute per call."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@contextmanager
def opened_hub(
    path: Path,
    engine: Engine | None = None,
    settings: WindowSettings = PLAIN,
    *,
    embedder: EmbedderSettings = WORDS_ALONE,
    reader: ReaderSettings | None = None,
    clock: Clock | None = None,
    make_toolbox: Callable[[Memory, Clock], Toolbox] | None = None,
) -> Iterator[Hub]:
    clock = clock or Clock()
    with ExitStack() as stack:
        memory = stack.enter_context(closing(open_memory(path, embedder, reader=reader)))
        toolbox = None if make_toolbox is None else make_toolbox(memory, clock)
        yield stack.enter_context(closing(Hub(engine or EchoEngine(), memory, settings, SIZES, clock, toolbox)))


def weave(settings: WindowSettings = PLAIN, **changes: object) -> WindowSettings:
    """Return the settings with changes to the living context."""
    return with_section(settings, "weave", **changes)


def with_section(settings: WindowSettings, section: str, **changes: object) -> WindowSettings:
    return with_overrides(settings, {f"{section}.{name}": value for name, value in changes.items()})


def living(window: Window) -> list[tuple[ChunkKey, str]]:
    return [(chunk.key, chunk.text) for chunk in window.life.context]


def brightness(window: Window) -> dict[ChunkKey, list[float]]:
    return {chunk.key: chunk.brightness.tolist() for chunk in window.life.context}


def kinds(window: Window, since: int = 0) -> list[str]:
    return [event.kind for event in window.log.since(since) or []]


def notices(window: Window) -> list[str]:
    return [str(event.data["text"]) for event in window.log.since(0) or [] if event.kind in ("notice", "error")]


def seen_text(window: Window) -> str:
    """Return all text that the model would read."""
    return window.engine.detokenize([placed.token_id for placed in window.life.layout().placed])


def held_text(window: Window) -> str:
    """Return all text in the engine's context."""
    return window.engine.detokenize([placed.token_id for placed in window.engine_context.tokens])


def stored_text(memory: Memory, turn: int) -> str:
    return "".join(entry.chunk.text for entry in memory.chunks_of_turn(turn) if not entry.chunk.deleted)


def positions_of(chunks: Sequence[LiveChunk]) -> list[int]:
    return [position for chunk in chunks for position in range(chunk.first_position, chunk.end_position)]


def is_ascending(placed: Sequence[Placed]) -> bool:
    places = [one.position for one in placed]
    return all(left < right for left, right in itertools.pairwise(places))


def long_text(paragraphs: int, name: str = "river") -> str:
    """Return paragraphs that each become a chunk of their own."""
    return "\n\n".join(f"The {name} number {number} runs to the sea at last." for number in range(paragraphs))
