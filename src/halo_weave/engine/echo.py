"""A deterministic engine without a model, for testing everything above the engine.

It gives scripted replies or repeats the last message, and its attention is made up or scripted. Each token is up to
three bytes of text: the same text always has the same tokens, and a character may be split across tokens.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.difference import difference, require_order
from halo_weave.engine.protocol import (
    Abilities,
    Ability,
    Attention,
    AttentionChoice,
    GenerationSettings,
    ModelFacts,
    OnRead,
    Placed,
    SpecialTokens,
    Step,
    SyncReport,
)
from halo_weave.engine.reply import RawStep, shape_reply
from halo_weave.errors import ContextTooLarge, EngineError, InputError
from halo_weave.records.tokens import Token
from halo_weave.text.characters import texts_of_pieces
from halo_weave.text.chat_template import chatml

_MARKS = ("<|im_start|>", "<|im_end|>", "<|end_of_text|>")
_PIECE_BYTES = 3
_FIRST_OF_LENGTH = (0, 0, 256, 256 + 256**2)
_FIRST_MARK = 256 + 256**2 + 256**3
_TURN_END = _FIRST_MARK + 1
_LAYERS, _HEADS = 2, 2
_READ_AT_ONCE = 64

MadeUpAttention = Callable[[Sequence[Placed]], Attention]
"""Maps a context to one row of attention over it."""


def fading_attention(tokens: Sequence[Placed]) -> Attention:
    """Return a row like a real model's: high on the first token, then rising to the end, with some bright tokens."""
    count = len(tokens)
    row = np.linspace(0.2, 1.0, count, dtype=np.float32)
    row += np.array([token.token_id % 7 == 0 for token in tokens], dtype=np.float32)
    row *= 0.7 / row.sum()
    row[0] += 0.3
    return row


class EchoEngine:
    def __init__(
        self,
        replies: Sequence[str] = (),
        *,
        attention: MadeUpAttention = fading_attention,
        context_tokens: int = 4096,
        step_seconds: float = 0.0,
    ) -> None:
        """Give each of `replies` once, in order, across all contexts; after that, repeat the last message."""
        self._replies = list(replies)
        self._lock = threading.Lock()
        self._step_seconds = step_seconds
        self._made_up = attention
        self.facts = ModelFacts(
            name="echo",
            trained_context=context_tokens,
            usable_context=context_tokens,
            layers=_LAYERS,
            heads=_HEADS,
            kv_heads=_HEADS,
            embedding_size=8,
            vocabulary_size=_FIRST_MARK + len(_MARKS),
            special_tokens=SpecialTokens(bos=None, eos=_FIRST_MARK + 2, end_of_turn=_TURN_END),
            chat_template=chatml(),
            abilities=Abilities(attention=Ability(True), editing=Ability(True)),
        )

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        parts = re.split("|".join(f"({re.escape(mark)})" for mark in _MARKS), text) if special else [text]
        ids = [token_id for part in parts if part for token_id in _ids_of(part, special)]
        texts = texts_of_pieces(map(_piece, ids))
        return [Token(token_id, piece) for token_id, piece in zip(ids, texts, strict=True)]

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return b"".join(map(_piece, token_ids)).decode(errors="replace")

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> "EchoContext":  # noqa: B008
        return EchoContext(self, attention, self._made_up, self._step_seconds)

    def close(self) -> None:
        pass

    def next_reply(self, token_ids: Sequence[int]) -> str:
        with self._lock:
            if self._replies:
                return self._replies.pop(0)
        return self.said_last(token_ids)

    def said_last(self, token_ids: Sequence[int]) -> str:
        """Return the text of the last closed turn, or the whole text if no turn is closed."""
        text = self.detokenize(token_ids)
        closed, end, _ = text.rpartition("<|im_end|>")  # otherwise every open turn would scan the rest
        turns = re.findall(r"<\|im_start\|>\w+\n(.*?)<\|im_end\|>", closed + end, re.DOTALL)
        return f"You said: {turns[-1] if turns else text}"


class EchoContext:
    def __init__(
        self, engine: EchoEngine, attention: AttentionChoice | None, made_up: MadeUpAttention, step_seconds: float
    ) -> None:
        self._engine = engine
        self._attention = attention
        self._made_up = made_up
        self._step_seconds = step_seconds
        self._tokens: list[Placed] = []
        self._kept: set[Placed] = set()
        self._closing = Cancellation()

    @property
    def tokens(self) -> list[Placed]:
        return list(self._tokens)

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport:
        started = time.perf_counter()
        self._require_open()
        wanted = [Placed(*token) for token in tokens]
        require_order(wanted)
        self._require_room(len(wanted))
        changes = difference([] if clean else self._tokens, wanted)
        inserted = [index for start, end in changes.inserted for index in range(start, end)]
        decoded = [index for index in inserted if clean or wanted[index] not in self._kept]
        for read in (*range(0, len(decoded), _READ_AT_ONCE), len(decoded)):
            if cancellation is not None:
                cancellation.require_going_on("Reading the context")
            if on_read is not None and read:
                on_read(read, len(decoded))
        if clean:
            self._kept.clear()
        removed = self._tokens if clean else [self._tokens[i] for run in changes.removed for i in range(*run)]
        staying = set(wanted)
        report = SyncReport(
            kept=sum(run.length for run in changes.kept),
            removed=sum(token not in staying for token in removed),
            restored=len(inserted) - len(decoded),
            decoded=len(decoded),
            seconds=time.perf_counter() - started,
        )
        if not clean:
            self._kept.update(removed)
        self._kept.difference_update(wanted)
        self._tokens = wanted
        if observe and self._attention is not None and decoded:
            return report._replace(read=np.array(decoded, dtype=np.int64), reading=self._reading(wanted, decoded))
        return report

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        self._require_open()
        if not self._tokens:
            raise InputError("The context is empty; there is nothing to continue.")
        return self._steps(settings, positions, cancellation)

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        self._require_open()
        self._require_room(len(self._tokens) + len(token_ids) + count)
        if cancellation is not None:
            cancellation.require_going_on("The preview")
        seen = [*(token.token_id for token in self._tokens), *token_ids]
        return self._engine.tokenize(self._engine.said_last(seen))[:count]

    def keeps(self, token: Placed) -> bool:  # noqa: ARG002
        return False

    def close(self) -> None:
        self._closing.cancel()

    def _steps(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation | None
    ) -> Iterator[Step]:
        with linked(cancellation, self._closing) as ended:
            yield from shape_reply(self._raw_steps(positions), settings, ended)

    def _raw_steps(self, positions: Iterator[int] | None) -> Iterator[RawStep]:
        reply = self._engine.next_reply([token.token_id for token in self._tokens])
        for token in (*self._engine.tokenize(reply), Token(_TURN_END, "")):
            if len(self._tokens) >= self._engine.facts.usable_context:
                return
            if self._step_seconds:
                time.sleep(self._step_seconds)
            yield RawStep(token.id, _piece(token.id), self._row(self._tokens), ends=token.id == _TURN_END)
            position = next(positions) if positions is not None else self._tokens[-1].position + 1
            self._tokens.append(Placed(position, token.id))

    def _row(self, tokens: Sequence[Placed]) -> Attention | None:
        if self._attention is None:
            return None
        row = np.asarray(self._made_up(tokens), dtype=np.float32)
        return np.broadcast_to(row, (_LAYERS, _HEADS, len(row))) if self._attention.reduce == "none" else row

    def _reading(self, wanted: list[Placed], decoded: list[int]) -> Attention:
        reading = np.zeros((len(decoded), len(wanted)), dtype=np.float32)
        for row, index in enumerate(decoded):
            reading[row, : index + 1] = self._made_up(wanted[: index + 1])
        return reading

    def _require_room(self, tokens: int) -> None:
        if tokens > self._engine.facts.usable_context:
            raise ContextTooLarge(tokens, self._engine.facts.usable_context)

    def _require_open(self) -> None:
        if self._closing.is_cancelled:
            raise EngineError("The context is closed.")


def _ids_of(part: str, special: bool) -> Iterator[int]:
    if special and part in _MARKS:
        yield _FIRST_MARK + _MARKS.index(part)
        return
    for word in re.findall(r"\s?\w+|\s|[^\w\s]+", part):
        encoded = word.encode(errors="replace")
        for start in range(0, len(encoded), _PIECE_BYTES):
            piece = encoded[start : start + _PIECE_BYTES]
            yield _FIRST_OF_LENGTH[len(piece)] + int.from_bytes(piece, "big")


def _piece(token_id: int) -> bytes:
    if token_id >= _FIRST_MARK:
        return _MARKS[token_id - _FIRST_MARK].encode() if token_id < _FIRST_MARK + len(_MARKS) else b""
    length = 3 if token_id >= _FIRST_OF_LENGTH[3] else 2 if token_id >= _FIRST_OF_LENGTH[2] else 1
    return (token_id - _FIRST_OF_LENGTH[length]).to_bytes(length, "big")
