"""`halo-weave chat`: a plain conversation in the terminal, or over a pipe with one message per line."""

import contextlib
import queue
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from types import FrameType

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from halo_weave import paths
from halo_weave.config import Settings
from halo_weave.engine.opening import open_engine
from halo_weave.engine.protocol import Ability, ModelFacts
from halo_weave.errors import EngineStopped, HaloError
from halo_weave.terminal import output
from halo_weave.terminal.conversation import Conversation

HISTORY_FILE = "chat_history"
HELP = """\
/help        this help
/quit        leave; so does Ctrl-D, or Ctrl-C twice at an empty prompt
Ctrl-C       stops a reply
Alt-Enter    begins a new line; so does Enter behind a backslash, and a pasted text keeps its lines"""
_COMMAND = re.compile(r"(/\w+)(?:[^\S\n][^\n]*)?")


def run(settings: Settings) -> int:
    output.survive_any_encoding()
    is_typed = sys.stdin.isatty() and sys.stdout.isatty()
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(contextlib.closing(open_engine(settings.engine)))
        conversation = Conversation(engine, settings.generation, settings.chat.system_prompt, output.notice)
        stack.enter_context(contextlib.closing(conversation))
        if is_typed:
            is_bundled = settings.engine.kind == "llamacpp" and not settings.engine.model
            output.notice(welcome(engine.facts, is_bundled=is_bundled))
            converse(conversation, typed_messages(_prompt_session()), is_typed=True)
        else:
            converse(conversation, (line.rstrip("\r\n") for line in sys.stdin), is_typed=False)
    return 0


def welcome(facts: ModelFacts, *, is_bundled: bool) -> str:
    def said(ability: Ability) -> str:
        return "yes" if ability.available else f"no ({ability.why_not})"

    lines = [
        f"{facts.name} · context {facts.usable_context:,} tokens"
        f" · attention {said(facts.abilities.attention)} · editing {said(facts.abilities.editing)}"
    ]
    if is_bundled:
        lines.append("The bundled model is very small and often wrong; use your own with --model your.gguf.")
    return "\n".join([*lines, "/help shows the keys, /quit leaves."])


def converse(conversation: Conversation, messages: Iterable[str], *, is_typed: bool) -> None:
    """Answer each message. Somebody who types is told of an error and goes on; over a pipe the error ends the chat."""
    for message in messages:
        text = message.encode("utf-8", "replace").decode("utf-8").rstrip()
        if not text:
            continue
        if command := _COMMAND.fullmatch(text):
            if command[1] == "/quit":
                return
            _obey(command[1])
            continue
        try:
            answer(conversation, text, is_typed=is_typed)
        except HaloError as error:
            if not is_typed:
                raise
            output.notice(f"halo-weave: {error}")


def _obey(command: str) -> None:
    if command == "/help":
        output.write_line(HELP)
    else:
        output.notice(f"There is no command {command}; /help lists what there is.")


def answer(conversation: Conversation, message: str, *, is_typed: bool) -> None:
    """Write the reply as it comes. Ctrl-C ends it; over a pipe, where nobody could go on, it ends the chat too."""
    is_interrupted = threading.Event()

    def interrupt() -> None:
        is_interrupted.set()
        conversation.stop()

    with _on_interrupt(interrupt):
        try:
            shown = _write_all(_from_another_thread(conversation.ask(message), conversation.stop))
        except EngineStopped:
            if not is_interrupted.is_set():
                raise
            shown = False
        if not is_typed and is_interrupted.is_set():
            raise KeyboardInterrupt
    _tell_ending(conversation, shown=shown, is_interrupted=is_interrupted.is_set())


def typed_messages(session: PromptSession[str]) -> Iterator[str]:
    was_interrupted = False
    while True:
        try:
            message = session.prompt("> ", prompt_continuation="  ")
        except EOFError:
            return
        except KeyboardInterrupt:
            if was_interrupted:
                return
            was_interrupted = True
            output.notice("Ctrl-C once more, or Ctrl-D, leaves.")
            continue
        was_interrupted = False
        yield message


def _write_all(pieces: Generator[str]) -> bool:
    """True if there was anything to write; it then ends with a line's end."""
    last = ""
    with contextlib.closing(pieces):
        try:
            for piece in pieces:
                output.write(piece)
                last = piece
        finally:
            if last and not last.endswith("\n"):
                output.write_line()
    return bool(last)


def _tell_ending(conversation: Conversation, *, shown: bool, is_interrupted: bool) -> None:
    if is_interrupted:
        output.notice("(stopped)" if shown else "(stopped before the reply began; the message is not kept)")
    elif conversation.finish_reason == "length":
        output.notice("(cut at the longest reply; --max-tokens allows longer ones)")
    elif not shown:
        output.notice("(the model ended its turn without a word)")


def _from_another_thread(pieces: Iterator[str], stop: Callable[[], None]) -> Generator[str]:
    """The same pieces, made in a thread of their own.

    The engine calls back into Python from C, where an exception would be lost; signals only ever reach the main thread,
    which thus stays out of the engine.
    """
    arriving: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            for piece in pieces:
                arriving.put(piece)
            arriving.put(None)
        except BaseException as error:
            arriving.put(error)

    worker = threading.Thread(target=work, name="reply")
    worker.start()
    is_over = False
    try:
        while not is_over:
            piece = _get(arriving)
            is_over = not isinstance(piece, str)
            if isinstance(piece, BaseException):
                raise piece
            if piece is not None:
                yield piece
    finally:
        if not is_over:
            stop()
        worker.join()


def _get(arriving: "queue.SimpleQueue[str | BaseException | None]") -> str | BaseException | None:
    """On Windows a signal is only noticed between waits, so none may be endless."""
    while True:
        with contextlib.suppress(queue.Empty):
            return arriving.get(timeout=0.2)


@contextlib.contextmanager
def _on_interrupt(act: Callable[[], None]) -> Iterator[None]:
    def handle(_signal: int, _frame: FrameType | None) -> None:
        act()

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _prompt_session() -> PromptSession[str]:
    return PromptSession(history=_history(paths.data_folder()), multiline=True, key_bindings=_key_bindings())


class _OptionalHistory(FileHistory):
    """A disk that is full or read-only must not end a conversation."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


def _history(folder: Path) -> History:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HISTORY_FILE).touch()
    except OSError:
        return InMemoryHistory()
    return _OptionalHistory(str(folder / HISTORY_FILE))


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
