"""The slash commands of a chat."""

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

RECALL = "weave.resurrection"
_COMMAND = re.compile(r"/(\w+)(?:[^\S\n](.*))?", re.DOTALL)
_Run = Callable[[OpenChat, str], None]


class Command(NamedTuple):
    """A slash command. A text of several lines calls it only if `takes_text` is True; otherwise it is a message."""

    argument: str
    help: str
    run: _Run
    is_reply: bool = False
    takes_text: bool = False


class SlashCall(NamedTuple):
    name: str
    argument: str


def called(text: str) -> SlashCall | None:
    """Return the command that a text calls, known or unknown, or None if the text is a message to send."""
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    name, argument = match[1], (match[2] or "").strip()
    command = COMMANDS.get(name)
    return None if "\n" in text and not (command and command.takes_text) else SlashCall(name, argument)


def help_lines() -> Iterator[str]:
    rows = [(f"/{name} {command.argument}".rstrip(), command.help) for name, command in COMMANDS.items()]
    rows += [("/help", "show this help"), ("/quit", "exit"), *KEYS]
    width = max(len(name) for name, _ in rows)
    yield from (f"{name:<{width}}  {explained}" for name, explained in rows)
    yield "TURN:CHUNK names a chunk as shown by /heat, /search and /graveyard, such as 12:0; 12 is the whole turn."


def _window(chat: OpenChat, argument: str) -> None:
    if not argument:
        raise InputError("Name a window, such as /window main; /windows lists them.")
    chat.switch_to(argument)
    output.notice(window_in_words(chat.window))


def _rename(chat: OpenChat, argument: str) -> None:
    chat.hub.rename(chat.window, argument)
    output.notice(f"(this window is now called {chat.window.name})")


def _prompt_text(chat: OpenChat, argument: str, *, field: str) -> None:
    """Show or set a text that this window's model always reads."""
    window, setting = chat.window, f"chat.{field}"
    if argument:
        others = {name: value for name, value in window.overrides.items() if name != setting}
        window.set_overrides(others if argument == "-" else {**others, setting: argument})
        output.notice("(takes effect with the next message)")
    else:
        whose = "set for this window" if setting in window.overrides else "from the settings"
        output.write_line(getattr(window.settings.chat, field) or "(none)")
        output.notice(f"({whose})")


def _preset(chat: OpenChat, argument: str) -> None:
    """Choose a preset for this window, or list them."""
    presets = chat.presets.all()
    chosen = [preset for preset in presets if preset.name == argument]
    if not argument:
        output.write_line("\n".join(preset.name for preset in presets) or "(no presets)")
    elif not chosen:
        raise InputError(f"There is no preset {argument[:40]!r}; /preset lists them.")
    else:
        chat.window.set_overrides({**chat.window.overrides, **chosen[0].settings})
        output.notice("(takes effect with the next message)")


def _recall(chat: OpenChat, argument: str) -> None:
    """Let text return from the memory in this window, or not; without an argument, say which."""
    window = chat.window
    if argument not in ("", "on", "off"):
        raise InputError(f"Write /recall on or /recall off, not /recall {argument[:40]}.")
    if argument:
        others = {name: value for name, value in window.overrides.items() if name != RECALL}
        window.set_overrides({**others, RECALL: argument == "on"})
    output.notice(f"(recall is {'on' if window.settings.weave.resurrection else 'off'} in this window)")


def _edit(chat: OpenChat, argument: str) -> None:
    """Edit the newest question. Without a text, put it into the prompt for editing."""
    newest = chat.window.newest
    if newest is None:
        raise InputError(f"The window {chat.window.name} has no question to edit.")
    if argument:
        chat.answer(partial(actions.edit_question, turn=newest.turn_user, text=argument))
    else:
        chat.draft = "/edit " + text_of(chunks_of(chat.window, TurnKey(newest.turn_user, "user")))


def _correct(chat: OpenChat, argument: str) -> None:
    """Edit the newest reply. Without a text, put it into the prompt for editing."""
    newest = chat.window.newest
    if newest is None:
        raise InputError(f"The window {chat.window.name} has no reply to correct.")
    if argument:
        actions.edit_reply(chat.window, newest.turn_assistant, argument)
        output.notice("(reply replaced; /continue to go on from it)")
    else:
        chat.draft = "/correct " + text_of(chunks_of(chat.window, TurnKey(newest.turn_assistant, "assistant")))


def _capture(chat: OpenChat, argument: str) -> None:
    if not argument:
        raise InputError("Name a new folder to capture to, such as /capture study, or write /capture stop.")
    if argument == "stop":
        capture.stop_capture(chat.window)
        output.notice("(capture stopped)")
    else:
        folder = Path(argument).expanduser().absolute()
        capture.start_capture(chat.window, folder)
        output.notice(f"(capturing tokens and attention to {folder}; /capture stop to end)")


def _regenerate(chat: OpenChat, _argument: str) -> None:
    chat.answer(actions.regenerate)


def _continue(chat: OpenChat, _argument: str) -> None:
    chat.answer(turns.continue_reply)


def _reflect(chat: OpenChat, _argument: str) -> None:
    chat.answer(reflection.reflect)


def _text(field: str, explained: str) -> Command:
    return Command("[TEXT]", explained, partial(_prompt_text, field=field), takes_text=True)


_CHUNK = "TURN[:CHUNK]"
COMMANDS = {
    "windows": Command("", "list the windows; * marks the open one", window_views.windows),
    "window": Command("NAME", "switch to a window, or start a new one", _window),
    "recall": Command("[on|off]", "show or set whether text returns from the memory in this window", _recall),
    "rename": Command("NAME", "give this window another name", _rename),
    "heat": Command("", "show the context, coloured by brightness", window_views.heat),
    "graveyard": Command("[N]", "show what this window archived last, and why", window_views.graveyard),
    "resurrect": Command(_CHUNK, "bring a chunk back into context and pin it", chunk_commands.resurrect),
    "pin": Command(_CHUNK, "keep a chunk in context", chunk_commands.pin),
    "unpin": Command(_CHUNK, "allow it to be archived again", chunk_commands.unpin),
    "delete": Command(_CHUNK, "delete in all windows; a question goes with its answer", chunk_commands.delete),
    "undo": Command("", "undo the last deletion", chunk_commands.undo),
    "search": Command("TEXT", "search the memory", window_views.search, takes_text=True),
    "stats": Command("", "show statistics of the window and the memory", window_views.stats),
    "system": _text("system_prompt", "show or set this window's system prompt; - resets it"),
    "character": _text("character", "show or set who the model is in this window; - resets it"),
    "persona": _text("persona", "show or set who you are in this window; - resets it"),
    "note": _text("note", "show or set a note that stays in context in this window; - resets it"),
    "preset": Command("[NAME]", "list the presets, or choose one for this window", _preset),
    "regenerate": Command("", "answer the last question again", _regenerate, is_reply=True),
    "continue": Command("", "continue the last reply", _continue, is_reply=True),
    "edit": Command("[TEXT]", "rephrase the last question", _edit, is_reply=True, takes_text=True),
    "correct": Command("[TEXT]", "replace the text of the last reply", _correct, takes_text=True),
    "reflect": Command("", "let the model summarise the conversation for the memory", _reflect, is_reply=True),
    "capture": Command("FOLDER|stop", "record tokens and attention to a new folder, for `halo-weave study`", _capture),
}
