"""Parses an export of the browser Halo Weave into chunks that keep their original numbers.

It is one JSON object with `tokens`, and with `stats` and `sentences`, which add nothing to the tokens. A `deleted`
token was pruned from the context, but it is part of the conversation all the same.
"""

import hashlib
import itertools
import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import require_number, text_of_number
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

FINGERPRINT = "import"
"""The metadata key that identifies a conversation imported before, even if it was renumbered."""
_SYSTEM_PROMPT_TURN = 0


class _BrowserToken(msgspec.Struct, frozen=True):
    token_id: int
    text: str
    position: int
    turn_id: int
    role: Role
    sentence_id: int

    @property
    def sentence(self) -> tuple[int, int, str]:
        return self.turn_id, self.sentence_id, self.role

    @property
    def is_of_system_prompt(self) -> bool:
        return self.turn_id == _SYSTEM_PROMPT_TURN and self.role == "system"


class _BrowserExport(msgspec.Struct, frozen=True):
    tokens: list[_BrowserToken]


class _Mark(msgspec.Struct):
    tokens: list[msgspec.Raw]


class BrowserConversation(NamedTuple):
    """`chunks` are in order of position. The system prompt's tokens are only counted."""

    chunks: list[Chunk]
    system_prompt_tokens: int
    fingerprint: str


_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(\\.)", re.DOTALL
)
_EXPORTS = msgspec.json.Decoder(_BrowserExport)
_MARKS = msgspec.json.Decoder(_Mark)


def with_whole_characters(document: bytes) -> bytes:
    """Replace unpaired surrogates with U+FFFD. A browser writes them where a token ends within a character."""
    if _HALF_CHARACTER.search(document) is None:
        return document
    return _ESCAPES.sub(lambda escape: rb"\ufffd" if escape[2] else escape[0], document)


def is_browser_export(document: bytes) -> bool:
    try:
        _MARKS.decode(document)
    except (ValueError, RecursionError):
        return False
    return True


def conversation_of(document: bytes, time: datetime) -> BrowserConversation:
    """Parse an export. It has no times, so every chunk gets `time`."""
    tokens = sorted(_tokens_of(document), key=lambda token: token.position)
    for earlier, later in itertools.pairwise(tokens):
        if earlier.position == later.position:
            raise InputError(f"Position {text_of_number(later.position)} occurs twice.")
    said = [token for token in tokens if not token.is_of_system_prompt]
    fingerprint = hashlib.sha256(msgspec.json.encode([msgspec.structs.astuple(token) for token in said])).hexdigest()
    return BrowserConversation(list(_chunks(said, time, fingerprint)), len(tokens) - len(said), fingerprint)


def _tokens_of(document: bytes) -> list[_BrowserToken]:
    try:
        tokens = _EXPORTS.decode(document).tokens
    except ValueError as error:
        raise InputError(f"Its tokens are not valid ({error}).") from error
    for token in tokens:
        for number in (token.position, token.turn_id, token.sentence_id):
            require_number(number)
    return tokens


def _chunks(tokens: list[_BrowserToken], time: datetime, fingerprint: str) -> Iterator[Chunk]:
    """Number chunks again within each turn, because a sentence with a gap becomes several chunks."""
    chunks_of_turn: dict[int, int] = {}
    for sentence in _sentences_without_gaps(tokens):
        turn = sentence[0].turn_id
        index = chunks_of_turn.get(turn, 0)
        chunks_of_turn[turn] = index + 1
        yield Chunk.of_tokens(
            ChunkKey(turn, index, sentence[0].role),
            [Token(token.token_id, token.text) for token in sentence],
            first_position=sentence[0].position,
            time=time,
            metadata={FINGERPRINT: fingerprint},
        )


def _sentences_without_gaps(tokens: list[_BrowserToken]) -> Iterator[list[_BrowserToken]]:
    sentence: list[_BrowserToken] = []
    for token in tokens:
        if sentence and (token.sentence != sentence[-1].sentence or token.position != sentence[-1].position + 1):
            yield sentence
            sentence = []
        sentence.append(token)
    if sentence:
        yield sentence
