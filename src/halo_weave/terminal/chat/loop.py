"""The chat loop: answers each message and runs each command."""

from collections.abc import Iterable
from functools import partial

from halo_weave.errors import HaloError
from halo_weave.session.turn.turn import send
from halo_weave.terminal import output
from halo_weave.terminal.chat.answering import counting_interrupts
from halo_weave.terminal.chat.commands import COMMANDS, SlashCall, called, help_lines
from halo_weave.terminal.chat.open_chat import OpenChat


def converse(chat: OpenChat, messages: Iterable[str]) -> None:
    """Answer each message. An interactive chat reports an error and continues; over a pipe an error ends the chat."""
    for message in messages:
        text = message.encode("utf-8", "replace").decode("utf-8").rstrip()
        if not text:
            continue
        command = called(text)
        if command is not None and command.name == "quit":
            return
        try:
            chat.take_over()
            if command is None:
                chat.answer(partial(send, message=text), text)
            else:
                _obey(chat, command)
        except HaloError as error:
            if not chat.is_typed:
                raise
            output.notice(f"halo-weave: {error}")


def _obey(chat: OpenChat, called: SlashCall) -> None:
    command = COMMANDS.get(called.name)
    if called.name == "help":
        output.write_line("\n".join(help_lines()))
    elif command is None:
        output.notice(f"Unknown command /{called.name}; type /help for a list.")
    elif command.is_reply:
        command.run(chat, called.argument)
    else:
        # Delay Ctrl-C until the command is done, so that no change to a window is left half finished.
        with counting_interrupts() as interrupts:
            command.run(chat, called.argument)
        if interrupts and not chat.is_typed:
            raise KeyboardInterrupt
        chat.showing.show_aside()
