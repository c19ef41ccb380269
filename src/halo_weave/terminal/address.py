"""Addresses that a person types for a turn or a chunk: TURN or TURN:CHUNK."""

import re
from dataclasses import dataclass

from halo_weave.errors import InputError
from halo_weave.records.numbers import number_of_text, text_of_number

_ADDRESS = re.compile(r"(0|[1-9][0-9]*)(?::(0|[1-9][0-9]{0,17}))?", re.ASCII)


@dataclass(frozen=True)
class Address:
    turn: int
    index: int | None = None

    def __str__(self) -> str:
        turn = text_of_number(self.turn)
        return turn if self.index is None else f"{turn}:{self.index}"


def address_of_text(text: str) -> Address:
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a turn or chunk; write TURN or TURN:CHUNK, such as 12 or 12:0.")
    return Address(number_of_text(match[1]), None if match[2] is None else int(match[2]))
