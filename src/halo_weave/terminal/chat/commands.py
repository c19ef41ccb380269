"""The commands of a chat: what is typed behind a slash."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from halo_weave.errors import InputError
from halo_weave.session.actions import actions, capture, reflection
from halo_weave.session.turn import turn as turns
from halo_weave.session.window.deleting import chunks_of, text_of
from halo_weave.terminal import output
from halo_weave.terminal.chat import chunk_commands, window_views
from halo_weave.terminal.chat.open_chat import OpenChat, window_in_words
from halo_weave.terminal.chat.prompt import KEYS
from halo_weave.weave.living import TurnKey

SYSTEM_PROMPT = "chat.system_prompt"
_COMMAND = re.compile(r"/(\w+)(?:[^\S\n](.*))?", re.DOTALL)
_Run = Callable[[OpenChat, str], None]


class Command(NamedTuple):
    """`takes_text` may have several lines; of what takes none of them, a message of several lines is no command."""

    argument: str
    help: str
    run: _Run
    is_reply: bool = False
    takes_text: bool = False


class Called(NamedTuple):
    name: str
    argument: str


def called(text: str) -> Called | None:
    """The command that a text is, known or not; None if it is to be said."""
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    name, argument = match[1], (match[2] or "").strip()
    command = COMMANDS.get(name)
    return None if "\n" in text and not (command and command.takes_text) else Called(name, argument)


def help_lines() -> Iterator[str]:
    rows = [(f"/{name} {command.argument}".rstrip(), command.help) for name, command in COMMANDS.items()]
    rows += [("/help", "this help"), ("/quit", "leaves"), *KEYS]
    width = max(len(name) for name, _ in rows)
    yield from (f"{name:<{width}}  {explained}" for name, explained in rows)
    yield "TURN:CHUNK is how /heat, /search and /graveyard name a chunk, such as 12:0; 12 is the whole turn."


def _window(chat: OpenChat, argument: str) -> None:
    if not argument:
        raise InputError("Which window? Write its name behind /window; /windows lists them.")
    chat.switch_to(argument)
    output.notice(window_in_words(chat.window))


def _system(chat: OpenChat, argument: str) -> None:
    window = chat.window
    if argument:
        others = {name: value for name, value in window.overrides.items() if name != SYSTEM_PROMPT}
        window.set_overrides(others if argument == "-" else {**others, SYSTEM_PROMPT: argument})
        output.notice("(the model reads it with the next message)")
    else:
        whose = "this window's own" if SYSTEM_PROMPT in window.overrides else "that of the settings"
        output.write_line(window.settings.chat.system_prompt or "(none)")
        output.notice(f"({whose})")


def _edit(chat: OpenChat, argument: str) -> None:
    """Without a text, the question comes to the prompt to be changed."""
    newest = chat.window.newest
    if newest is None:
        raise InputError(f"There is no question in the window {chat.window.name} that could be asked in other words.")
    if argument:
        chat.answer(partial(actions.edit_question, turn=newest.turn_user, text=argument))
    else:
        chat.draft = "/edit " + text_of(chunks_of(chat.window, TurnKey(newest.turn_user, "user")))


def _correct(chat: OpenChat, argument: str) -> None:
    """Without a text, the reply comes to the prompt to be changed."""
    newest = chat.window.newest
    if newest is None:
        raise InputError(f"There is no reply in the window {chat.window.name} that could be corrected.")
    if argument:
        actions.edit_reply(chat.window, newest.turn_assistant, argument)
        output.notice("(the reply has your words now; /continue goes on from them)")
    else:
        chat.draft = "/correct " + text_of(chunks_of(chat.window, TurnKey(newest.turn_assistant, "assistant")))


def _capture(chat: OpenChat, argument: str) -> None:
    if not argument:
        raise InputError("Where to? Write a new folder behind /capture, or stop.")
    if argument == "stop":
        capture.stop_capture(chat.window)
        output.notice("(the capture has ended)")
    else:
        folder = Path(argument).expanduser().absolute()
        capture.start_capture(chat.window, folder)
        output.notice(f"(what the model sees and looks at is written to {folder} until /capture stop)")


def _regenerate(chat: OpenChat, _argument: str) -> None:
    chat.answer(actions.regenerate)


def _continue(chat: OpenChat, _argument: str) -> None:
    chat.answer(turns.continue_reply)


def _reflect(chat: OpenChat, _argument: str) -> None:
    chat.answer(reflection.reflect)


_CHUNK = "TURN[:CHUNK]"
COMMANDS = {
    "windows": Command("", "lists the windows; * is the open one", window_views.windows),
    "window": Command("NAME", "goes to another window, or begins one", _window),
    "heat": Command("", "shows the living context, coloured by brightness", window_views.heat),
    "graveyard": Command("[N]", "shows what this window buried last, and why", window_views.graveyard),
    "resurrect": Command(_CHUNK, "brings a chunk of the memory back, pinned", chunk_commands.resurrect),
    "pin": Command(_CHUNK, "keeps a living chunk from being buried", chunk_commands.pin),
    "unpin": Command(_CHUNK, "lets it be buried again", chunk_commands.unpin),
    "delete": Command(_CHUNK, "deletes for all windows; of a question all of it and its answer", chunk_commands.delete),
    "undo": Command("", "takes the last deletion back", chunk_commands.undo),
    "search": Command("TEXT", "searches the memory", window_views.search, takes_text=True),
    "stats": Command("", "shows figures of window and memory", window_views.stats),
    "system": Command("[TEXT]", "shows or sets this window's system prompt; - unsets it", _system, takes_text=True),
    "regenerate": Command("", "has the last question answered anew", _regenerate, is_reply=True),
    "continue": Command("", "lets the model write on", _continue, is_reply=True),
    "edit": Command("[TEXT]", "asks the last question in other words", _edit, is_reply=True, takes_text=True),
    "correct": Command("[TEXT]", "puts other words in the place of the last reply", _correct, takes_text=True),
    "reflect": Command("", "has the model sum up the conversation for the memory", _reflect, is_reply=True),
    "capture": Command("FOLDER|stop", "writes tokens and attention to a new folder, for study", _capture),
}
