"""A model's vocabulary: lossless conversion between text and tokens."""

import ctypes as ct
from collections.abc import Sequence

from halo_weave.engine.llamacpp.library import Library
from halo_weave.engine.protocol import SpecialTokens
from halo_weave.errors import InputError
from halo_weave.records.tokens import Token
from halo_weave.text.characters import texts_of_pieces


class ModelVocabulary:
    """Valid as long as its model is loaded."""

    def __init__(self, library: Library, address: int) -> None:
        self._c = library.c
        self._address = address
        self._pieces: dict[int, bytes] = {}
        self.size: int = self._c.llama_vocab_n_tokens(address)
        self.adds_bos: bool = self._c.llama_vocab_get_add_bos(address)
        self.special_tokens = SpecialTokens(
            bos=_known(self._c.llama_vocab_bos(address)),
            eos=_known(self._c.llama_vocab_eos(address)),
            end_of_turn=_known(self._c.llama_vocab_eot(address)),
        )

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        ids = self.ids(text, special=special)
        texts = texts_of_pieces(self.piece(token_id) for token_id in ids)
        # Some vocabularies put a space before the first word. It is not part of the text.
        if texts and texts[0].startswith(" ") and not text.startswith(" "):
            texts[0] = texts[0][1:]
        return [Token(token_id, piece) for token_id, piece in zip(ids, texts, strict=True)]

    def ids(self, text: str, *, special: bool = False, framed: bool = False) -> list[int]:
        """Return the ids of a text. `framed` adds the model's own start and end tokens, if it has any."""
        encoded = text.encode(errors="replace")
        room = len(encoded) + 8
        for _ in range(2):
            buffer = (ct.c_int32 * room)()
            count = self._c.llama_tokenize(self._address, encoded, len(encoded), buffer, room, framed, special)
            if count >= 0:
                return list(buffer[:count])
            room = -count
        raise InputError("The text is too long to be tokenized.")

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return b"".join(self.piece(token_id) for token_id in token_ids).decode(errors="replace")

    def piece(self, token_id: int) -> bytes:
        """Return the bytes of one token; control tokens in their written form."""
        piece = self._pieces.get(token_id)
        if piece is None:
            piece = self._pieces[token_id] = self._read_piece(token_id)
        return piece

    def ends_generation(self, token_id: int) -> bool:
        ends: bool = self._c.llama_vocab_is_eog(self._address, token_id)
        return ends

    def has(self, token_id: int) -> bool:
        return 0 <= token_id < self.size

    def _read_piece(self, token_id: int) -> bytes:
        if not self.has(token_id):
            return b""
        buffer = ct.create_string_buffer(64)
        length = self._c.llama_token_to_piece(self._address, token_id, buffer, len(buffer), 0, True)
        if length < 0:
            buffer = ct.create_string_buffer(-length)
            length = self._c.llama_token_to_piece(self._address, token_id, buffer, -length, 0, True)
        return buffer.raw[:length]


def _known(token_id: int) -> int | None:
    return token_id if token_id >= 0 else None
