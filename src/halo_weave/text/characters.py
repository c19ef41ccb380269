"""Decodes a stream of bytes into whole characters.

A tokenizer may split a character over several tokens. Only whole characters are ever shown: the bytes of an incomplete
one wait here, and the token that completes it carries the whole character.
"""

import codecs
from collections.abc import Iterable


class CharacterStream:
    """Takes bytes and returns whole characters; invalid bytes become U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, piece: bytes) -> str:
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """Return the rest when no more bytes will come: nothing, or U+FFFD for an incomplete character."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest


def texts_of_pieces(pieces: Iterable[bytes]) -> list[str]:
    """Return one text per piece, which join to the whole; a character belongs to the piece that completes it."""
    stream = CharacterStream()
    texts = [stream.push(piece) for piece in pieces]
    if texts and (rest := stream.finish()):
        texts[-1] += rest
    return texts
