"""Encodes turns with control tokens of our own, and decodes tokens into the messages of a chat request.

A server takes messages and adds its model's own marks, so our marks are never sent. Their ids lie beyond every
vocabulary, and only `tokenize(special=True)` produces them: typing a mark does not open a turn. (How the server treats
a mark inside a message is up to the server.)
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from halo_weave.records.roles import ROLES, Role
from halo_weave.text.chat_template import ChatTemplate, chatml

FIRST_OWN_ID = 2**30
"""Ids from here up are ours: first one per byte, then the control tokens."""

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
    """`continues` is set if the last message is an unfinished assistant message to be continued."""

    messages: list[ChatMessage]
    continues: bool


def byte_id(byte: int) -> int:
    """Return our token for one byte, used for texts that do not survive the tokenizer."""
    return FIRST_OWN_ID + byte


def is_byte(token_id: int) -> bool:
    return FIRST_OWN_ID <= token_id < _FIRST_CONTROL


def split_marks(text: str) -> Iterator[str | int]:
    """Yield the text between marks and the control tokens of the marks, in order."""
    for part in _MARK.split(text):
        if part:
            yield _ID_OF_MARK.get(part, part)


def alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Merge neighbouring messages of the same role: burials leave such pairs, and many templates refuse them."""
    return [
        ChatMessage(role, "\n\n".join(message.content for message in neighbours))
        for role, neighbours in groupby(messages, lambda message: message.role)
    ]


def conversation_of(token_ids: Sequence[int], text_of: Callable[[Sequence[int]], str]) -> Conversation:
    """Return the messages that a list of tokens encodes.

    Text outside any turn joins the message before it, or becomes a user message if there is none. Blank text there
    belongs to the marks and is dropped. An assistant turn without text at the very end stands for the reply to come.
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
