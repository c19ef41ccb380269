"""Chats with the echo engine and a real memory, without a terminal."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine, GenerationSettings
from halo_weave.memory.memory import open_memory
from halo_weave.memory.settings import MemorySettings
from halo_weave.session.hub import Hub
from halo_weave.session.settings import ChatSettings, WindowSettings
from halo_weave.session.window.words import ChunkSizes
from halo_weave.terminal.chat.loop import converse
from halo_weave.terminal.chat.open_chat import OpenChat
from halo_weave.terminal.chat.pending_notices import PendingNotices
from halo_weave.tools.factory import opened_toolboxes
from halo_weave.weave.settings import WeaveSettings

SETTINGS = WindowSettings(
    chat=ChatSettings("Be kind."),
    generation=GenerationSettings(max_tokens=100, temperature=0),
    weave=WeaveSettings(show_times=False),
)


@contextmanager
def opened_chat(
    folder: Path,
    engine: Engine | None = None,
    *,
    replies: Sequence[str] = (),
    settings: WindowSettings = SETTINGS,
    name: str = "main",
    is_typed: bool = True,
) -> Iterator[OpenChat]:
    notices = PendingNotices()
    with ExitStack() as stack:
        memory = stack.enter_context(closing(open_memory(folder / "halo.db", notice=notices.tell)))
        chosen = engine or EchoEngine(replies)
        toolbox = stack.enter_context(opened_toolboxes(memory, MemorySettings())).chat
        hub = stack.enter_context(closing(Hub(chosen, memory, settings, ChunkSizes(64, 0), toolbox=toolbox)))
        yield OpenChat(hub, memory, notices, hub.open(name), is_typed=is_typed)


def say(chat: OpenChat, *messages: str) -> None:
    converse(chat, messages)


def living_texts(chat: OpenChat) -> list[str]:
    return [chunk.text for chunk in chat.window.life.context]
