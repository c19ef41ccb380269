"""Windows whose model has tools."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.memory import Memory
from halo_weave.memory.settings import MemorySettings
from halo_weave.session.hub import Hub
from halo_weave.session.settings import WindowSettings
from halo_weave.session.window.window import Window
from halo_weave.tools.factory import opened_toolboxes
from halo_weave.tools.registry import Toolbox
from halo_weave.weave.context import LiveChunk
from support.windows import PLAIN, WORDS_ALONE, Clock, opened_hub, with_section


@contextmanager
def hub_with_tools(
    path: Path,
    replies: Sequence[str] = (),
    settings: WindowSettings = PLAIN,
    *,
    engine: Engine | None = None,
    context_tokens: int = 4096,
    embedder: EmbedderSettings = WORDS_ALONE,
) -> Iterator[Hub]:
    with ExitStack() as stack:

        def toolbox(memory: Memory, clock: Clock) -> Toolbox:
            return stack.enter_context(opened_toolboxes(memory, MemorySettings(), clock)).chat

        engine = engine or EchoEngine(replies, context_tokens=context_tokens)
        with opened_hub(path, engine, settings, embedder=embedder, make_toolbox=toolbox) as hub:
            yield hub


def tools(settings: WindowSettings = PLAIN, **changes: object) -> WindowSettings:
    return with_section(settings, "tools", **changes)


def by_tools(window: Window) -> list[LiveChunk]:
    """Return the living chunks that are tool results, recognised by their marks."""
    return [chunk for chunk in window.life.context if "tool" in chunk.marks]


def events(window: Window, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in window.log.since(0) or [] if event.kind == kind]
