"""The prompt: history, messages of several lines, and Ctrl-C."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from halo_weave import paths
from halo_weave.system.private_files import make_private_folder
from halo_weave.terminal import output

HISTORY_FILE = "chat_history"
KEYS = (
    ("Ctrl-C", "stop the reply; the text so far is kept"),
    ("Ctrl-D", "exit; so does pressing Ctrl-C twice at an empty prompt"),
    ("Alt-Enter", "start a new line; so does Enter after a backslash. Pasted text keeps its lines"),
)


def prompt_session(*, is_kept: bool = True) -> PromptSession[str]:
    """A session whose history is a file, or one for private windows, whose history ends with the program."""
    kept = history(paths.data_folder()) if is_kept else InMemoryHistory()
    return PromptSession(history=kept, multiline=True, key_bindings=_key_bindings())


def typed_messages(session: Callable[[], PromptSession[str]], take_draft: Callable[[], str]) -> Iterator[str]:
    """Yield typed messages until the user exits, each from the session of that moment. A draft pre-fills the prompt."""
    was_interrupted = False
    while True:
        try:
            draft = take_draft()
            with patch_stdout(raw=True):  # another program's turn may be shown meanwhile
                message = session().prompt("> ", default=draft, prompt_continuation="  ")
        except EOFError:
            return
        except KeyboardInterrupt:
            if was_interrupted:
                return
            was_interrupted = True
            output.notice("Press Ctrl-C again or Ctrl-D to exit.")
            continue
        was_interrupted = False
        yield message


def history(folder: Path) -> History:
    try:
        make_private_folder(folder)
        (folder / HISTORY_FILE).touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return _OptionalHistory(str(folder / HISTORY_FILE))


class _OptionalHistory(FileHistory):
    """A history that ignores write errors: a full or read-only disk must not end a conversation."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


def _key_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def send_or_continue(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("c-c")
    @bindings.add("<sigint>")
    def clear_or_leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    return bindings
