"""What the page colours the context by, over HTTP."""

from base64 import b64encode
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.heat import looks_of_newest_message, order_of_leaving
from halo_weave.session.window.window_state import Key


class HeatQuery(msgspec.Struct):
    """`message`: what the newest message looks at; `keeping`: the order in which chunks would leave."""

    by: Literal["message", "keeping"] = "message"


class ChunkHeat(msgspec.Struct):
    """With `message`, `attention` has the square root of each token's share as a 16-bit fraction of 1, in base64.

    With `keeping`, `place` is the chunk's place in the order of leaving, 0 for the first.
    """

    key: Key
    attention: str | None = None
    place: int | None = None


class Heat(msgspec.Struct):
    """Chunks of which nothing is known are missing. If there is a reader, it may know more of them later."""

    has_reader: bool
    chunks: list[ChunkHeat]


def _heat(call: Call) -> Heat:
    window = call.window
    if call.query.by == "keeping":
        leaving = enumerate(order_of_leaving(window))
        chunks = [ChunkHeat(Key(**key_to_json(key)), place=place) for place, key in leaving]
    else:
        looks = looks_of_newest_message(window)
        chunks = [ChunkHeat(Key(**key_to_json(key)), attention=_encoded(shares)) for key, shares in looks.items()]
    return Heat(window.memory.has_reader, chunks)


def _encoded(shares: NDArray[np.float32]) -> str:
    roots = np.rint(np.sqrt(np.clip(shares, 0.0, 1.0)) * 65_535).astype("<u2")
    return b64encode(roots.tobytes()).decode()


ENDPOINTS = [
    Endpoint(
        "GET",
        "/api/windows/{window}/heat",
        "Get what the newest message looks at in the context, or the order in which chunks would leave it.",
        _heat,
        Heat,
        query=HeatQuery,
    ),
]
