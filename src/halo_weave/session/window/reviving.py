"""Turns stored chunks into living ones: in the tokens of the model in use, with the start of their turn."""

from collections.abc import Mapping, Sequence

import numpy as np

from halo_weave.engine.protocol import Engine
from halo_weave.errors import EngineError, InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token
from halo_weave.records.windows import WINDOW
from halo_weave.weave.brightness.protocol import Scorer, State
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import ANCHOR

MODEL = "model"
"""The metadata entry that names the model whose tokens the chunk has."""

TOOL = "tool"
"""The metadata entry that marks a tool result and describes the call."""


class Reviver:
    def __init__(self, memory: Memory, engine: Engine, scorer: Scorer) -> None:
        self._memory = memory
        self._engine = engine
        self._scorer = scorer

    def tokens(self, chunk: Chunk) -> tuple[list[Token], bool]:
        """A chunk's tokens for the model in use, and whether they differ from the stored ones."""
        stored = chunk.tokens()
        if (chunk.metadata or {}).get(MODEL) == self._engine.facts.name or self._can_read(stored, chunk.text):
            return stored, False
        return self._engine.tokenize(chunk.text), True

    def alive(
        self, chunk: Chunk, *, brightness: float, token_brightness: Sequence[float] = (), is_pinned: bool = False
    ) -> LiveChunk:
        """`token_brightness` has a value for each token, or is empty."""
        tokens, is_foreign = self.tokens(chunk)
        state = self._scorer.revived(len(tokens), brightness)
        for place, earned in enumerate(token_brightness):
            state[:, place : place + 1] = self._scorer.revived(1, earned)
        return self._live(chunk, tokens, is_foreign, state, is_pinned)

    def fresh(self, chunk: Chunk, tokens: list[Token], state: State | None = None) -> LiveChunk:
        """A chunk that a person or the model has just written."""
        return self._live(chunk, tokens, False, self._scorer.fresh(len(tokens)) if state is None else state, False)

    def as_before(
        self, chunk: Chunk, state: State, *, same_scorer: bool, is_pinned: bool, turn_start: int
    ) -> LiveChunk:
        """A chunk with the state that it had when its window was saved.

        If the tokens or the scorer differ, each token gets the chunk's saved peak.
        """
        tokens, is_foreign = self.tokens(chunk)
        if not same_scorer or state.shape != (self._scorer.lanes, len(tokens)):
            state = self._scorer.revived(len(tokens), float(state[0].max()))
        return self._live(chunk, tokens, is_foreign, state, is_pinned, turn_start)

    def _live(
        self,
        chunk: Chunk,
        tokens: list[Token],
        is_foreign: bool,
        state: State,
        is_pinned: bool,
        turn_start: int | None = None,
    ) -> LiveChunk:
        return LiveChunk(
            key=chunk.key,
            first_position=chunk.first_position,
            end_position=chunk.end_position,
            turn_start=self.turn_start(chunk) if turn_start is None else turn_start,
            time=chunk.time,
            tokens=tokens,
            state=np.asarray(state, dtype=np.float32),
            is_foreign=is_foreign,
            is_pinned=is_pinned,
            marks=self.trusted_marks(chunk),
            window=window_of(chunk),
        )

    def trusted_marks(self, chunk: Chunk) -> dict[str, object]:
        """An imported file could mark any text as a tool result, so the mark counts only if a window here wrote it."""
        marks = marks_of(chunk)
        if TOOL in marks:
            writer = (chunk.metadata or {}).get(WINDOW)
            if all(outline.id != writer for outline in self._memory.window_store.windows()):
                del marks[TOOL]
        return marks

    def turn_start(self, chunk: Chunk) -> int:
        """The first position of a chunk's turn."""
        if chunk.key.index == ANCHOR:
            return chunk.first_position
        anchor = self._memory.chunk(ChunkKey(chunk.key.turn, ANCHOR, chunk.key.role))
        if anchor is not None:
            return anchor.chunk.first_position
        of_turn = self._memory.chunks_of_turn(chunk.key.turn)
        return min(entry.chunk.first_position for entry in of_turn if entry.chunk.key.role == chunk.key.role)

    def _can_read(self, tokens: list[Token], text: str) -> bool:
        """Whether the engine's own tokenizer turns these tokens into the same text."""
        if any(not 0 <= token.id < self._engine.facts.vocabulary_size for token in tokens):
            return False
        try:
            return self._engine.detokenize([token.id for token in tokens]) == text
        except (EngineError, InputError):
            return False


def metadata_of(window_id: str, model: str, marks: Mapping[str, object]) -> dict[str, object]:
    """The metadata of a chunk that a window writes."""
    return {WINDOW: window_id, MODEL: model, **marks}


def window_of(chunk: Chunk) -> str:
    """The id of the window that wrote the chunk; empty if none did, as with imported text."""
    writer = (chunk.metadata or {}).get(WINDOW)
    return writer if isinstance(writer, str) else ""


def marks_of(chunk: Chunk) -> dict[str, object]:
    """The chunk's metadata without window and model, such as how a reply ended."""
    return {name: value for name, value in (chunk.metadata or {}).items() if name not in (WINDOW, MODEL)}
