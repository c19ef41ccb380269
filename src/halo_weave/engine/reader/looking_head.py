"""A looking head: the attention head that looks from a question to the words that answer it."""

import msgspec


class LookingHead(msgspec.Struct, frozen=True):
    """A head of a model. Numbers count from 0.

    Several heads share one key head. `largest_key` is the size at which a key's values are cut off when stored.
    """

    layer: int
    head: int
    key_head: int
    largest_key: float

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"


BUNDLED_HEAD = LookingHead(layer=9, head=2, key_head=0, largest_key=12.0)
"""The head of SmolLM2-135M-Instruct that found most evidence, by itself, in chats of both data sets."""
