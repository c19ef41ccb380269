"""Fills an empty memory with the demo: its chunks, and windows in which the newest text is in context."""

from collections.abc import Callable, Sequence

import msgspec

from halo_weave.demo.script import Exchange
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk
from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.records.windows import BurialRecord, WindowRecord
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.saved_window import SavedChunk, SavedExchange, SavedKey, SavedWindow, encoded
from halo_weave.session.window.words import ChunkSizes, Positions, cut, placed
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Scorer
from halo_weave.weave.living import TurnKey

LIVING_TOKENS = 700
"""Tokens of each window that are in context; older text is archived."""
_LEAST_BRIGHTNESS = 300.0
_REASON = "Left to make room for newer text."


class _Writing(msgspec.Struct):
    """A window while the script is being read."""

    chunks: list[Chunk] = []
    newest: SavedExchange | None = None
    messages: int = 0


def fill(
    memory: Memory,
    exchanges: Sequence[Exchange],
    *,
    tokenize: Callable[[str], list[Token]],
    model: str,
    sizes: ChunkSizes,
    scorer: Scorer,
) -> None:
    """Write the exchanges as if they had been said at their times; `tokenize` is of the model that is named."""
    windows: dict[str, _Writing] = {}
    written: list[Chunk] = []
    for exchange in exchanges:
        window = windows.setdefault(exchange.window, _Writing())
        message, reply = tokenize(exchange.message), tokenize(exchange.reply)
        reserved = memory.reserve(len(message) + len(reply))
        positions = Positions(memory, reserved.position_start, reserved.position_end)
        words = placed([*message, *reply], positions)
        metadata = metadata_of(_window_id(exchange.window), model, {})
        said: tuple[tuple[int, Role, slice], ...] = (
            (reserved.turn_user, "user", slice(0, len(message))),
            (reserved.turn_assistant, "assistant", slice(len(message), None)),
        )
        for turn, role, part in said:
            window.chunks += cut(
                words[part],
                TurnKey(turn, role),
                first_index=0,
                time=exchange.time,
                metadata=metadata,
                sizes=sizes,
            )
        window.messages += 1
        end = text_of_number(reserved.position_end)
        window.newest = SavedExchange(
            turn_user=text_of_number(reserved.turn_user),
            turn_assistant=text_of_number(reserved.turn_assistant),
            free_from=end,
            free_to=end,
        )
    for window in windows.values():
        written += window.chunks
    memory.write(sorted(written, key=lambda chunk: chunk.first_position))
    for name, window in windows.items():
        _save(memory, name, window, scorer)


def _save(memory: Memory, name: str, window: _Writing, scorer: Scorer) -> None:
    living = _newest(window.chunks)
    archived = window.chunks[: len(window.chunks) - len(living)]
    saved = SavedWindow(
        scorer=scorer.name,
        chunks=tuple(
            _saved_chunk(chunk, scorer, brightness=_brightness(place, len(living)))
            for place, chunk in enumerate(living)
        ),
        newest=window.newest,
        messages=window.messages,
        tokens=sum(chunk.token_count for chunk in living),
    )
    last = living[-1].time
    buried = [BurialRecord(chunk.key, chunk.first_position, _LEAST_BRIGHTNESS, _REASON, last) for chunk in archived]
    memory.window_store.put_window(WindowRecord(_window_id(name), name, encoded(saved), 0, last), buried=buried)


def _newest(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the newest chunks of a window up to the limit, beginning with a user's message."""
    living: list[Chunk] = []
    tokens = 0
    for chunk in reversed(chunks):
        tokens += chunk.token_count
        if tokens > LIVING_TOKENS and living:
            break
        living.insert(0, chunk)
    while len(living) > 1 and living[0].key.role != "user":
        living.pop(0)
    return living


def _brightness(place: int, count: int) -> float:
    return _LEAST_BRIGHTNESS + (NEW_BRIGHTNESS - _LEAST_BRIGHTNESS) * (place + 1) / count


def _saved_chunk(chunk: Chunk, scorer: Scorer, *, brightness: float) -> SavedChunk:
    state = scorer.revived(chunk.token_count, brightness)
    return SavedChunk(
        key=SavedKey.of(chunk.key),
        position=text_of_number(chunk.first_position),
        rows=len(state),
        state=state.tobytes(),
        is_pinned=False,
    )


def _window_id(name: str) -> str:
    return f"demo-{name}"
