"""Whole characters out of a stream of bytes.

A tokenizer may split one character over several tokens. Text is only ever shown in whole characters: the bytes of an
unfinished one wait here, and the token that completes it carries the whole character.
"""

import codecs
from collections.abc import Iterable


class CharacterStream:
    """Bytes in, whole characters out; bytes that can never become a character turn into U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, piece: bytes) -> str:
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """What is left when no more bytes will come: nothing, or the sign for an unfinished character."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest


def texts_of_pieces(pieces: Iterable[bytes]) -> list[str]:
    """One text per piece, which joined give the whole text; a character belongs to the piece that completes it."""
    stream = CharacterStream()
    texts = [stream.push(piece) for piece in pieces]
    if texts and (rest := stream.finish()):
        texts[-1] += rest
    return texts
