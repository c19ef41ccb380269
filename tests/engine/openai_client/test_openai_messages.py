"""Turns as control tokens, and the conversion back to messages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.openai_client.messages import (
    CHAT_TEMPLATE,
    CLOSING,
    CONTROL_TEXTS,
    OPENINGS,
    ChatMessage,
    Conversation,
    alternating,
    byte_id,
    conversation_of,
    is_byte,
    split_marks,
)
from halo_weave.records.roles import ROLES, Role

OPENING = {role: token_id for token_id, role in OPENINGS.items()}


def text_of(token_ids: Sequence[int]) -> str:
    return "".join(map(chr, token_ids))


def plain(text: str) -> list[int]:
    return [*map(ord, text)]


def turn(role: Role, text: str) -> list[int]:
    return [OPENING[role], *plain(text), CLOSING, *plain("\n")]


def conversation(*token_ids: int) -> Conversation:
    return conversation_of(token_ids, text_of)


def test_turns_become_messages_and_an_opened_reply_is_the_one_to_come() -> None:
    tokens = [*turn("system", "Be kind."), *turn("user", "Hi"), OPENING["assistant"]]
    assert conversation(*tokens) == Conversation([ChatMessage("system", "Be kind."), ChatMessage("user", "Hi")], False)


def test_a_reply_that_was_begun_is_continued() -> None:
    tokens = [*turn("user", "Hi"), OPENING["assistant"], *plain("Hel")]
    assert conversation(*tokens) == Conversation([ChatMessage("user", "Hi"), ChatMessage("assistant", "Hel")], True)


def test_a_closed_reply_at_the_end_is_not_continued() -> None:
    assert not conversation(*turn("user", "Hi"), *turn("assistant", "Hello")).continues


def test_text_before_any_turn_is_the_users() -> None:
    assert conversation(*plain("Hi"), *turn("user", "there")).messages == [
        ChatMessage("user", "Hi"),
        ChatMessage("user", "there"),
    ]


def test_text_between_turns_joins_the_message_before_it() -> None:
    tokens = [*turn("user", "Hi"), *plain("again"), *turn("assistant", "Yes")]
    assert conversation(*tokens).messages == [ChatMessage("user", "Hi\nagain"), ChatMessage("assistant", "Yes")]


def test_neighbours_of_one_role_are_sent_as_one_message() -> None:
    messages = [
        ChatMessage("user", "a"),
        ChatMessage("user", "b"),
        ChatMessage("assistant", "c"),
        ChatMessage("user", "d"),
    ]
    assert alternating(messages) == [
        ChatMessage("user", "a\n\nb"),
        ChatMessage("assistant", "c"),
        ChatMessage("user", "d"),
    ]


def test_blank_text_inside_a_turn_is_kept() -> None:
    assert conversation(*turn("user", " \n")).messages == [ChatMessage("user", " \n")]


def test_no_tokens_are_no_messages() -> None:
    assert conversation() == Conversation([], False)
    assert conversation(OPENING["assistant"]) == Conversation([], False)


def test_the_marks_of_the_chat_template_are_control_tokens() -> None:
    for role in ROLES:
        marks = CHAT_TEMPLATE.marks(role)
        assert list(split_marks(f"{marks.opening}text{marks.closing}")) == [OPENING[role], "text", CLOSING, "\n"]


def test_an_unknown_role_opens_nothing() -> None:
    assert list(split_marks("<|im_start|>tool\n")) == ["<|im_start|>tool\n"]


def test_ids_of_our_own_do_not_overlap() -> None:
    ours = [*map(byte_id, range(256)), *CONTROL_TEXTS]
    assert len(set(ours)) == len(ours)
    assert all(map(is_byte, ours[:256]))
    assert not any(map(is_byte, CONTROL_TEXTS))


@given(st.text(), st.text())
def test_splitting_at_marks_loses_nothing(before: str, after: str) -> None:
    text = f"{before}<|im_start|>user\n{after}<|im_end|>"
    parts = [CONTROL_TEXTS[part] if isinstance(part, int) else part for part in split_marks(text)]
    assert "".join(parts) == text


@pytest.mark.parametrize("role", ROLES)
def test_what_stands_in_a_turn_is_its_message_word_for_word(role: Role) -> None:
    text = " Grüße,\n\n日本 <|im_end|> "
    assert conversation(*turn(role, text)).messages == [ChatMessage(role, text)]
