"""Turns as control tokens of our own, and the way back from tokens to the messages of a chat request.

A server takes messages and puts its model's own marks around them, so the marks here are never sent. Their ids lie
beyond every vocabulary, and only `tokenize(special=True)` gives them: nobody opens a turn by typing its mark. (What the
server makes of a mark inside a message is up to the server.)
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from halo_weave.records.roles import ROLES, Role
from halo_weave.text.chat_template import ChatTemplate, chatml

FIRST_OWN_ID = 2**30
"""From here on ids are ours: first one for each byte, then the control tokens."""

_FIRST_CONTROL = FIRST_OWN_ID + 256
CHAT_TEMPLATE: ChatTemplate = chatml()
OPENINGS: dict[int, Role] = {_FIRST_CONTROL + index: role for index, role in enumerate(ROLES)}
CLOSING = _FIRST_CONTROL + len(ROLES)
CONTROL_TEXTS = {
    **{token_id: CHAT_TEMPLATE.marks(role).opening for token_id, role in OPENINGS.items()},
    CLOSING: CHAT_TEMPLATE.user.closing.strip(),
}
_ID_OF_MARK = {text: token_id for token_id, text in CONTROL_TEXTS.items()}
_MARK = re.compile("(" + "|".join(map(re.escape, _ID_OF_MARK)) + ")")


class ChatMessage(NamedTuple):
    role: Role
    content: str


class Conversation(NamedTuple):
    """`continues` if the last message is an assistant's that was begun and is to be continued."""

    messages: list[ChatMessage]
    continues: bool


def byte_id(byte: int) -> int:
    """The token of ours that stands for one byte, for texts that a tokenizer does not give back as they were."""
    return FIRST_OWN_ID + byte


def is_byte(token_id: int) -> bool:
    return FIRST_OWN_ID <= token_id < _FIRST_CONTROL


def split_marks(text: str) -> Iterator[str | int]:
    """The text between marks, and the control tokens of the marks, in order."""
    for part in _MARK.split(text):
        if part:
            yield _ID_OF_MARK.get(part, part)


def alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Neighbours of the same role as one message: many models' templates refuse two, and burials leave them so."""
    return [
        ChatMessage(role, "\n\n".join(message.content for message in neighbours))
        for role, neighbours in groupby(messages, lambda message: message.role)
    ]


def conversation_of(token_ids: Sequence[int], text_of: Callable[[Sequence[int]], str]) -> Conversation:
    """The messages that a list of tokens stands for.

    Text outside of any turn joins the message before it, or is a user's message if there is none; blank text there
    belongs to the marks and is dropped. An assistant's turn without text at the very end is the reply to come.
    """
    messages: list[ChatMessage] = []
    is_open = False
    for is_control, run in groupby(token_ids, CONTROL_TEXTS.__contains__):
        if is_control:
            for token_id in run:
                is_open = token_id != CLOSING
                if is_open:
                    messages.append(ChatMessage(OPENINGS[token_id], ""))
            continue
        text = text_of(list(run))
        if is_open or text.strip():
            if not messages:
                messages.append(ChatMessage("user", ""))
            messages[-1] = ChatMessage(messages[-1].role, messages[-1].content + text)
    awaits_reply = is_open and messages[-1].role == "assistant"
    if awaits_reply and not messages[-1].content:
        return Conversation(messages[:-1], continues=False)
    return Conversation(messages, continues=awaits_reply)
