"""The state that the chat loop and its commands share: a chat with one open window at a time."""

from datetime import datetime
from typing import Literal

from halo_weave import paths
from halo_weave.errors import HaloError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.hub import Hub
from halo_weave.session.presets.presets import Presets
from halo_weave.session.settings import FRESH
from halo_weave.session.window.window import Window
from halo_weave.terminal.chat.answering import Answering, answer
from halo_weave.terminal.chat.pending_notices import PendingNotices
from halo_weave.terminal.chat.showing import Showing
from halo_weave.terminal.chunk_lines import counted, local_time

WindowKind = Literal["ordinary", "fresh", "private"]


class OpenChat:
    """`draft` pre-fills the next prompt; `deletions` are those that /undo can revert, newest last."""

    def __init__(self, hub: Hub, memory: Memory, notices: PendingNotices, window: Window, *, is_typed: bool) -> None:
        self.hub = hub
        self._notices = notices
        self.memory = memory
        self.presets = Presets(paths.presets_file())
        self.is_typed = is_typed
        self.draft = ""
        self.deletions: list[tuple[ChunkKey, ...]] = []
        self._look_into(window)

    def switch_to(self, name: str) -> None:
        """Open a window and close the previous one, because each takes up a context in the model's memory.

        The current window is reopened if named, which helps after another program has changed it.
        """
        listed = {one.name: one.id for one in self.hub.windows()}
        if self.window.id in (name, listed.get(name)):
            if self.window.is_private:
                return  # closing it would end it
            self.hub.close_window(self.window)
            self._look_into(self.hub.open(name))
        else:
            before, opened = self.window, self.hub.open(name)
            if before.recorder is not None:
                self._notices.tell(f"(stopped capturing the window {before.name})")
            self._look_into(opened)
            self.hub.close_window(before)

    def answer(self, work: Answering, said: str = "") -> None:
        """Show a reply as it streams in. If the message could not be saved, put it back into the prompt.

        Over a pipe, where nobody can continue, Ctrl-C also ends the chat.
        """
        try:
            is_interrupted = answer(self.window, self.showing, work)
        except HaloError:
            if "reply" in self.showing.told:
                self._notices.tell("(the reply so far is saved; /continue to resume)")
            elif "message" not in self.showing.told:
                self.draft = said
            raise
        if is_interrupted and not self.is_typed:
            raise KeyboardInterrupt

    def take_over(self) -> None:
        """Stop a window that is reflecting on its own, because the user has sent something."""
        if self.window.doing:
            self.window.stop()
            self.window.wait_until_idle()
        self.showing.show_aside()

    def take_draft(self) -> str:
        self._notices.show()
        draft, self.draft = self.draft, ""
        return draft

    def _look_into(self, window: Window) -> None:
        self.window = window
        self.showing = Showing(window, self._notices, is_typed=self.is_typed)
        self.showing.show_aside()


def opened_window(hub: Hub, name: str, kind: WindowKind) -> Window:
    """The window of this name, or a new one of another kind."""
    if kind == "private":
        return hub.open_private()
    return hub.begin(overrides=FRESH) if kind == "fresh" else hub.open(name)


def window_in_words(window: Window) -> str:
    """Summarise a window for someone who returns to it."""
    if window.is_private:
        return (
            "PRIVATE WINDOW: it reads the memory, and nothing that is said here is written to the disk. It is gone "
            "when you leave it."
        )
    if not window.messages and not window.settings.weave.resurrection:
        return f"New window {window.name}, without recall; /recall on turns it on."
    if not window.messages and not len(window.life.context):
        return f"New window {window.name}."
    living = counted(len(window.life.context), "chunk")
    words = f"Window {window.name}: {living} in context, {len(window.life.burial_log):,} archived"
    last = _last_message(window)
    return f"{words}; last message {local_time(last)}." if last else f"{words}."


def _last_message(window: Window) -> datetime | None:
    if window.newest is None:
        return None
    said = window.memory.chunks_of_turn(window.newest.turn_user)
    return max((entry.chunk.time for entry in said), default=None)
