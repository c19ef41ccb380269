"""Opens the memory for a command and looks up chunks by address."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from halo_weave.config import Settings
from halo_weave.errors import InputError, StoreUnavailable
from halo_weave.memory.embedders.choice import Notice
from halo_weave.memory.memory import Memory, open_memory
from halo_weave.records.chunks import Stored
from halo_weave.terminal import output
from halo_weave.terminal.address import Address

ORIGIN = "command line"
"""The origin that the audit log records for changes made by commands."""
_SHOWN_DIGITS = 60


@contextmanager
def opened_memory(settings: Settings, *, may_be_new: bool = False, notice: Notice = output.notice) -> Iterator[Memory]:
    output.survive_any_encoding()
    path = settings.memory.file
    if not may_be_new and not path.exists():
        raise StoreUnavailable(
            f"No memory found at {path}; start a chat or run `halo-weave import FILE` to create one."
        )
    memory = open_memory(path, settings.embedder, settings.search, settings.reader, notice=notice)
    try:
        yield memory
    finally:
        memory.close()


def chunks_at(memory: Memory, address: Address) -> Sequence[Stored]:
    """Return all chunks of a turn, or only those with the given index. Raise InputError if there are none."""
    chunks = [
        stored
        for stored in memory.chunks_of_turn(address.turn)
        if address.index is None or stored.chunk.key.index == address.index
    ]
    if not chunks:
        what = "turn" if address.index is None else "chunk"
        named = str(address)
        named = named if len(named) <= _SHOWN_DIGITS else f"{named[:_SHOWN_DIGITS]}..."
        raise InputError(f"There is no {what} {named} in the memory.")
    return chunks
