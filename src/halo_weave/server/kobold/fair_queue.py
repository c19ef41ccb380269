"""A fair queue: round robin over the clients, first come first served within each client."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class PlaceGivenUp(Exception):
    """The place in the queue was given up before its turn came."""


class FairQueue:
    """One client holds the turn at a time. Bound to one event loop."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_taken = False

    def __len__(self) -> int:
        """Number of waiting requests."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, client: str, given_up: "asyncio.Future[None] | None" = None) -> AsyncIterator[None]:
        """Wait for the turn and hold it. Cancellation gives the place up; so does `given_up`, with PlaceGivenUp."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(place)
        self._admit_next()
        try:
            await asyncio.wait({place} if given_up is None else {place, given_up}, return_when=asyncio.FIRST_COMPLETED)
            if given_up is not None and given_up.done():
                raise PlaceGivenUp
            yield
        finally:
            self._leave(client, place)

    def _leave(self, client: str, place: "asyncio.Future[None]") -> None:
        if place.done():
            self._is_taken = False
            self._admit_next()
            return
        line = self._waiting[client]
        line.remove(place)
        if not line:
            del self._waiting[client]

    def _admit_next(self) -> None:
        if self._is_taken or not self._waiting:
            return
        client, line = self._waiting.popitem(last=False)
        place = line.popleft()
        if line:
            self._waiting[client] = line
        self._is_taken = True
        place.set_result(None)
