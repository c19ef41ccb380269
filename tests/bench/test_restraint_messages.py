"""The messages of `bench restraint` that need no memory."""

import unicodedata
from collections import Counter

import pytest

from halo_weave.bench.restraint.messages import LANGUAGES, MESSAGES

KINDS_OF_EVERY_LANGUAGE = {
    "greeting",
    "thanks",
    "acknowledgement",
    "farewell",
    "follow-up",
    "arithmetic",
    "knowledge",
    "code",
    "creative",
    "pasted-text",
}
ALL = [message for kinds in MESSAGES.values() for messages in kinds.values() for message in messages]
COUNTS = {language: sum(map(len, kinds.values())) for language, kinds in MESSAGES.items()}
SCRIPTS = {"ru": "CYRILLIC", "zh": "CJK", "ja": ("HIRAGANA", "KATAKANA"), "ar": "ARABIC", "hi": "DEVANAGARI"}


def test_there_are_enough_messages_and_about_half_of_them_are_english() -> None:
    assert len(ALL) >= 150
    assert 0.4 <= COUNTS["en"] / len(ALL) <= 0.6


def test_the_other_languages_have_about_as_many_messages_as_each_other() -> None:
    others = [count for language, count in COUNTS.items() if language != "en"]
    assert len(others) >= 9
    assert max(others) <= 1.5 * min(others)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_kind_of_message(language: str) -> None:
    assert set(MESSAGES[language]) >= KINDS_OF_EVERY_LANGUAGE
    assert all(MESSAGES[language].values())


def test_no_message_occurs_twice_whatever_its_case_and_punctuation() -> None:
    plain = ["".join(sign for sign in message.casefold() if not _is_punctuation(sign)) for message in ALL]
    assert [message for message, count in Counter(plain).items() if count > 1] == []


def test_no_message_is_empty_or_has_space_around_it() -> None:
    assert [message for message in ALL if not message or message != message.strip()] == []


@pytest.mark.parametrize(("language", "script"), SCRIPTS.items())
def test_languages_of_other_scripts_are_written_in_them(language: str, script: str | tuple[str, ...]) -> None:
    messages = [message for own in MESSAGES[language].values() for message in own]
    written = [any(unicodedata.name(sign, "").startswith(script) for sign in message) for message in messages]
    assert sum(written) > 0.7 * len(messages)


def test_messages_are_written_in_several_styles() -> None:
    assert sum(message == message.lower() and message.isascii() for message in ALL) >= 15
    assert sum(any(unicodedata.category(sign) == "So" for sign in message) for message in ALL) >= 8
    assert sum(len(message) > 80 for message in ALL) >= 8
    assert sum(len(message) < 10 for message in ALL) >= 20


def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "PZ"
