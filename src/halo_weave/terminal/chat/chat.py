"""`halo-weave chat`: chat in a window, in a terminal or over a pipe with one message per line."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from halo_weave.config import Settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.protocol import Ability, ModelFacts
from halo_weave.memory.memory import Memory
from halo_weave.session.actions.following import Following
from halo_weave.session.actions.reflection import Reflecting
from halo_weave.session.hub import Hub
from halo_weave.session.window.words import ChunkSizes
from halo_weave.terminal import output
from halo_weave.terminal.chat.elsewhere import show_said_elsewhere
from halo_weave.terminal.chat.loop import converse
from halo_weave.terminal.chat.open_chat import OpenChat, WindowKind, opened_window, window_in_words
from halo_weave.terminal.chat.pending_notices import PendingNotices
from halo_weave.terminal.chat.prompt import prompt_session, typed_messages
from halo_weave.terminal.opened_memory import opened_memory
from halo_weave.tools.factory import opened_toolboxes

_QUIET_WAIT_S, _LONGEST_WAIT_S = 1.0, 4.0


def run(settings: Settings, window_name: str, kind: WindowKind = "ordinary") -> int:
    output.survive_any_encoding()
    is_typed = sys.stdin.isatty() and sys.stdout.isatty()
    notices = PendingNotices()
    sizes = ChunkSizes(settings.memory.chunk_min_tokens, settings.memory.chunk_max_tokens)
    with ExitStack() as stack:
        stack.callback(notices.show)
        engine = stack.enter_context(closing(open_engine(settings.engine)))
        memory = stack.enter_context(opened_memory(settings, may_be_new=True, notice=notices.tell))
        stack.enter_context(_embedded(memory))
        toolbox = stack.enter_context(opened_toolboxes(memory, settings.memory)).chat
        window_settings = settings.for_model(engine.facts.name).window
        hub = stack.enter_context(closing(Hub(engine, memory, window_settings, sizes, toolbox=toolbox)))
        stack.enter_context(closing(Reflecting(hub.open_windows)))
        chat = OpenChat(hub, memory, notices, opened_window(hub, window_name, kind), is_typed=is_typed)
        if is_typed:
            is_bundled = settings.engine.kind == "llamacpp" and not settings.engine.model
            output.notice(f"{welcome(engine.facts, is_bundled=is_bundled)}\n{window_in_words(chat.window)}")
            output.notice("Type /help for commands and keys, /quit to exit.")
            stack.enter_context(closing(Following(hub.open_windows, show_said_elsewhere)))
            kept, private = prompt_session(), prompt_session(is_kept=False)
            converse(chat, typed_messages(lambda: private if chat.window.is_private else kept, chat.take_draft))
        else:
            converse(chat, (line.rstrip("\r\n") for line in sys.stdin))
    return 0


def welcome(facts: ModelFacts, *, is_bundled: bool) -> str:
    def said(ability: Ability) -> str:
        return "yes" if ability.available else f"no ({ability.why_not})"

    lines = [
        f"{facts.name} · context {facts.usable_context:,} tokens"
        f" · attention {said(facts.abilities.attention)} · editing {said(facts.abilities.editing)}"
    ]
    if is_bundled:
        lines.append("The bundled model is very small and often wrong. Use a larger one with --model your.gguf.")
    return "\n".join(lines)


@contextmanager
def _embedded(memory: Memory) -> Iterator[None]:
    """Embed chunks in the background during the chat. At the end, wait only briefly for the last ones."""
    memory.embed_missing_later()
    yield
    if memory.wait_embedded(_QUIET_WAIT_S):
        return
    output.notice("(indexing the conversation; press Ctrl-C to finish at the next start)")
    try:
        is_done = memory.wait_embedded(_LONGEST_WAIT_S)
    except KeyboardInterrupt:
        return
    if not is_done:
        output.notice("(indexing will finish at the next start)")
