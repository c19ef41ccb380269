"""A looking head: the attention head that looks from a question to the words that answer it."""

import msgspec

KEY_VALUES = 64
"""The size of a head in the bundled model, and the bytes that a stored key takes."""


class LookingHead(msgspec.Struct, frozen=True):
    """`layer` and `head` count from 0. `largest_key` is the size at which a key's values are cut off when stored."""

    layer: int
    head: int
    largest_key: float


BUNDLED_HEAD = LookingHead(layer=9, head=2, largest_key=12.0)
"""The head of SmolLM2-135M-Instruct below layer 10 that found most evidence, by itself, in chats of both data sets."""
