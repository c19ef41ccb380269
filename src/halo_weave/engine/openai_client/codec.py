"""Lossless conversion between text and tokens, whatever the tokenizer does to a text."""

import functools
from collections.abc import Iterable, Sequence
from itertools import groupby

from halo_weave.engine.openai_client.messages import CONTROL_TEXTS, FIRST_OWN_ID, byte_id, is_byte, split_marks
from halo_weave.engine.openai_client.tokenizers import Piece, ServerTokenizer
from halo_weave.records.tokens import Token
from halo_weave.text.characters import texts_of_pieces

_REMEMBERED = 8192
_ANCHOR = "\n"


class Codec:
    """Round-trips every text, even if the tokenizer adds a space before the first word or changes the text.

    A text that does not survive the tokenizer is encoded as one token per byte. Results are cached, because a reply is
    tokenized piece by piece.
    """

    def __init__(self, tokenizer: ServerTokenizer) -> None:
        self._tokenizer = tokenizer
        self._bytes_of: dict[int, bytes] = {}
        self._plain = functools.lru_cache(maxsize=_REMEMBERED)(self._ask)
        self._unknown_run = functools.lru_cache(maxsize=_REMEMBERED)(tokenizer.text_bytes)

    def encode(self, text: str, *, special: bool = False) -> list[Piece]:
        sendable = text.encode(errors="replace").decode()
        parts: Iterable[str | int] = split_marks(sendable) if special else [sendable]
        pieces: list[Piece] = []
        for part in parts:
            if isinstance(part, int):
                pieces.append(Piece(part, CONTROL_TEXTS[part].encode()))
            elif part:
                pieces += self._plain(part)
        return pieces

    def decode(self, token_ids: Sequence[int]) -> bytes:
        decoded = b""
        for is_own, group in groupby(token_ids, lambda token_id: token_id >= FIRST_OWN_ID):
            run = tuple(group)
            decoded += b"".join(map(_own_bytes, run)) if is_own else self._decode_run(run)
        return decoded

    def close(self) -> None:
        self._tokenizer.close()

    def _ask(self, text: str) -> tuple[Piece, ...]:
        pieces = self._exact(text)
        self._bytes_of.update((piece.id, piece.bytes) for piece in pieces if piece.id < FIRST_OWN_ID)
        return tuple(pieces)

    def _exact(self, text: str) -> list[Piece]:
        wanted = text.encode()
        pieces = self._tokenizer.pieces(text)
        if _joined(pieces) == wanted:
            return pieces
        before = self._tokenizer.pieces(_ANCHOR)
        anchored = self._tokenizer.pieces(_ANCHOR + text)
        if anchored[: len(before)] == before and _joined(anchored[len(before) :]) == wanted:
            return anchored[len(before) :]
        return [Piece(byte_id(byte), bytes([byte])) for byte in wanted]

    def _decode_run(self, token_ids: tuple[int, ...]) -> bytes:
        if all(token_id in self._bytes_of for token_id in token_ids):
            return b"".join(self._bytes_of[token_id] for token_id in token_ids)
        return self._unknown_run(token_ids)


def tokens_of(pieces: Sequence[Piece]) -> list[Token]:
    texts = texts_of_pieces(piece.bytes for piece in pieces)
    return [Token(piece.id, text) for piece, text in zip(pieces, texts, strict=True)]


def _joined(pieces: Iterable[Piece]) -> bytes:
    return b"".join(piece.bytes for piece in pieces)


def _own_bytes(token_id: int) -> bytes:
    if is_byte(token_id):
        return bytes([token_id - FIRST_OWN_ID])
    return CONTROL_TEXTS.get(token_id, "").encode()
