"""A looking head: the attention head that looks from a question to the words that answer it."""

import msgspec


class LookingHead(msgspec.Struct, frozen=True):
    """A head of a model. Numbers count from 0.

    Several heads share one key head. Keys are stored as differences from `key_mean`, the mean of the keys of much text,
    and `key_deviation` is the standard deviation of a value from its mean, averaged over the values.
    """

    layer: int
    head: int
    key_head: int
    key_mean: tuple[float, ...]
    key_deviation: float

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"
