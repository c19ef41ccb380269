"""What another program saved in a window while this one was at work in it; both are kept."""

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import number_of_text
from halo_weave.session.window.saved_window import SavedChunk, SavedExchange, SavedWindow


class SavedElsewhere(NamedTuple):
    """`messages` counts those that this program does not know."""

    chunks: tuple[SavedChunk, ...] = ()
    newest: SavedExchange | None = None
    messages: int = 0
    news_seen: int | None = None

    def added_to(self, ours: SavedWindow) -> SavedWindow:
        """Return our state with what was saved elsewhere, in order of position, and with the later newest exchange."""
        known = {chunk.key for chunk in ours.chunks}
        others = [chunk for chunk in self.chunks if chunk.key not in known]
        return msgspec.structs.replace(
            ours,
            chunks=tuple(sorted((*ours.chunks, *others), key=lambda chunk: number_of_text(chunk.position))),
            newest=max((one for one in (ours.newest, self.newest) if one is not None), key=_place, default=None),
            messages=ours.messages + self.messages,
            news_seen=ours.news_seen if self.news_seen is None else min(ours.news_seen, self.news_seen),
            tokens=None if ours.tokens is None else ours.tokens + sum(map(_tokens, others)),
        )


def saved_elsewhere(
    theirs: SavedWindow, earlier: SavedElsewhere | None, *, buried: Collection[ChunkKey], messages_before: int
) -> SavedElsewhere:
    """Return what the other program's state adds to ours, and to what it added `earlier` during the same work.

    `buried` are chunks that we have just buried; they stay so. `messages_before` is the count that both began with.
    """
    messages = max(0, theirs.messages - messages_before)
    return SavedElsewhere(
        chunks=tuple(chunk for chunk in theirs.chunks if chunk.key.key not in buried),
        newest=theirs.newest,
        messages=messages + (0 if earlier is None else earlier.messages),
        news_seen=theirs.news_seen,
    )


def _place(exchange: SavedExchange) -> int:
    return number_of_text(exchange.turn_assistant)


def _tokens(chunk: SavedChunk) -> int:
    return int(chunk.brightness_rows().shape[1])
