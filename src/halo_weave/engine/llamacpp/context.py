"""An editable llama.cpp context: removes, moves, restores and inserts tokens instead of reading everything again.

Editing is not the same as reading again. The remaining tokens were computed while the removed text was present, and
they never saw text that was inserted before them. Use `sync(clean=True)` where that is not acceptable.
"""

import itertools
import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.difference import require_order
from halo_weave.engine.llamacpp.attention import AttentionTap
from halo_weave.engine.llamacpp.computation import BATCH_TOKENS, INSERTION, MAIN, Computation
from halo_weave.engine.llamacpp.editing import NOTHING, CellsUnknown, ContextEdit, Editor, Held, Settled
from halo_weave.engine.llamacpp.kept_rows import KeptRows
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.sampling import REPEAT_WINDOW, Sampler
from halo_weave.engine.protocol import GenerationSettings, OnRead, Placed, Step, SyncReport
from halo_weave.engine.reply import RawStep, shape_reply
from halo_weave.errors import ContextTooLarge, EngineError, InputError
from halo_weave.records.tokens import Token
from halo_weave.text.characters import texts_of_pieces

_owners = itertools.count()
_LOGITS_AT_ONCE = 64
"""The logits of a whole batch would take a hundred megabytes."""


class LlamaContext:
    def __init__(
        self,
        model: Model,
        *,
        usable: int,
        cells: int,
        threads: int,
        tap: AttentionTap | None,
        flash_attention: bool,
        is_editable: bool,
        kept: KeptRows,
    ) -> None:
        self._model = model
        self._usable = usable
        self._cells = cells
        self._kept = kept
        self._owner = next(_owners)
        self._lock = threading.Lock()
        self._closing = Cancellation()
        self._is_closed = False
        self._revision = 0
        self._computation = Computation(model, cells=cells, threads=threads, tap=tap, flash_attention=flash_attention)
        self._editor = Editor(
            self._computation,
            tap,
            kept,
            owner=self._owner,
            is_editable=is_editable,
            can_drop_tail=not model.is_recurrent,
        )
        self._held = NOTHING
        self._settled: Settled | None = None

    @property
    def tokens(self) -> list[Placed]:
        return list(self._held.tokens)

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport:
        wanted = [Placed(*token) for token in tokens]
        require_order(wanted)
        self._require_known([token.token_id for token in wanted])
        if len(wanted) > self._usable:
            raise ContextTooLarge(len(wanted), self._usable)
        with self._lock, linked(cancellation, self._closing) as ended:
            self._require_open()
            ended.require_going_on("Reading the context")
            self._revision += 1
            started = time.perf_counter()
            sync = self._clean_sync if clean else self._sync
            report = sync(wanted, observe, ended, on_read)
            return report._replace(seconds=time.perf_counter() - started)

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        with self._lock:
            self._require_open()
            if self._settled is None:
                raise InputError("The context is empty; there is nothing to continue.")
            self._revision += 1
            raw = self._raw_steps(settings, positions, self._revision)
        return self._steps(raw, settings, cancellation)

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        ids = list(token_ids)
        self._require_known(ids)
        with self._lock, linked(cancellation, self._closing) as ended:
            self._require_open()
            if self._settled is None and not ids:
                raise InputError("The context is empty; there is nothing to continue.")
            needed = len(self._held.tokens) + len(ids) + count
            if needed > self._cells:
                raise ContextTooLarge(needed, self._cells)
            previewed = self._preview(ids, count, ended)
        texts = texts_of_pieces(map(self._model.vocabulary.piece, previewed))
        return [Token(token_id, text) for token_id, text in zip(previewed, texts, strict=True)]

    def log_probabilities(self, token_ids: Sequence[int]) -> NDArray[np.float64]:
        """Return the log probability of each of these tokens after the text before it, without changing the context."""
        ids = list(token_ids)
        self._require_known(ids)
        with self._lock:
            self._require_open()
            if self._settled is None or not self._editor.is_editable:
                raise InputError("Only the context of an editable model can be continued with given tokens.")
            if len(self._held.tokens) + len(ids) > self._cells:
                raise ContextTooLarge(len(self._held.tokens) + len(ids), self._cells)
            rows = [self._settled.logits]
            self._computation.copy(MAIN, INSERTION)
            try:
                for start in range(0, len(ids) - 1, _LOGITS_AT_ONCE):
                    part = ids[start : min(start + _LOGITS_AT_ONCE, len(ids) - 1)]
                    self._computation.decode(part, len(self._held.tokens) + start, INSERTION, all_logits=True)
                    rows += [self._computation.logits(place) for place in range(len(part))]
            finally:
                self._computation.remove(INSERTION, -1)
        return np.array([_log_probability(row, token) for row, token in zip(rows, ids, strict=False)])

    def logits(self) -> NDArray[np.float32]:
        """Return the logits of the next token."""
        if self._settled is None:
            raise InputError("The context is empty; there is nothing to continue.")
        return self._settled.logits

    def keeps(self, token: Placed) -> bool:
        return self._kept.has(self._owner, token)

    def close(self) -> None:
        self._closing.cancel()
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._forget()
                self._computation.close()

    def _sync(
        self, wanted: list[Placed], observe: bool, cancellation: Cancellation, on_read: OnRead | None
    ) -> SyncReport:
        if wanted == self._held.tokens and self._settled is not None:
            return SyncReport(kept=len(wanted), removed=0, restored=0, decoded=0, seconds=0.0)
        if not wanted:
            return self._clean_sync(wanted, observe, cancellation, on_read)
        try:
            return self._edit(wanted, observe, cancellation, on_read)
        except CellsUnknown:
            return self._clean_sync(wanted, observe, cancellation, on_read)

    def _clean_sync(
        self, wanted: list[Placed], observe: bool, cancellation: Cancellation, on_read: OnRead | None
    ) -> SyncReport:
        removed = len(set(self._held.tokens) - set(wanted))
        self._forget()
        if not wanted:
            return SyncReport(kept=0, removed=removed, restored=0, decoded=0, seconds=0.0)
        return self._edit(wanted, observe, cancellation, on_read)._replace(removed=removed)

    def _edit(
        self, wanted: list[Placed], observe: bool, cancellation: Cancellation, on_read: OnRead | None = None
    ) -> SyncReport:
        edit = ContextEdit(
            self._editor, self._held, wanted, observe=observe, cancellation=cancellation, on_read=on_read
        )
        self._settled = None
        try:
            report, self._settled = edit.run()
        except BaseException:
            self._fall_back_to(edit.held)
            raise
        self._held = edit.held
        return report

    def _fall_back_to(self, held: Held) -> None:
        """After a failed edit, continue from the tokens that the edit says are intact. They have no logits yet."""
        self._held = held
        if held.tokens:
            self._computation.remove(MAIN, len(held.tokens))
        else:
            self._computation.clear()

    def _forget(self) -> None:
        """Clear the context and all of its kept rows."""
        self._kept.forget(self._owner)
        self._computation.clear()
        self._held = NOTHING
        self._settled = None

    def _steps(
        self, raw: Iterator[RawStep], settings: GenerationSettings, cancellation: Cancellation | None
    ) -> Iterator[Step]:
        with linked(cancellation, self._closing) as ended:
            yield from shape_reply(raw, settings, ended)

    def _raw_steps(
        self, settings: GenerationSettings, positions: Iterator[int] | None, revision: int
    ) -> Iterator[RawStep]:
        vocabulary = self._model.vocabulary
        recent = [token.token_id for token in self._held.tokens[-REPEAT_WINDOW:]]
        sampler = Sampler(self._model.library, settings, recent, vocabulary.size)
        try:
            while True:
                with self._lock:
                    settled = self._still_settled(revision)
                    chosen = sampler.choose(settled.logits)
                piece, ends = vocabulary.piece(chosen), vocabulary.ends_generation(chosen)
                yield RawStep(chosen, piece, settled.attention, ends)
                if len(self._held.tokens) >= self._usable:
                    return
                with self._lock:
                    self._still_settled(revision)
                    position = self._held.tokens[-1].position + 1 if positions is None else next(positions)
                    self._append(Placed(position, chosen))
        finally:
            sampler.close()

    def _append(self, token: Placed) -> None:
        try:
            self._held, self._settled = self._editor.settle(self._held, token)
        except BaseException:
            self._forget()
            raise

    def _still_settled(self, revision: int) -> Settled:
        self._require_open()
        if revision != self._revision or self._settled is None:
            raise EngineError("The context was changed while a reply was being generated from it.")
        return self._settled

    def _preview(self, ids: list[int], count: int, cancellation: Cancellation) -> list[int]:
        """Decode in a separate sequence if possible. Otherwise decode in the context itself, then restore it."""
        before = self._held
        sequence = INSERTION if self._editor.is_editable else MAIN
        if sequence == INSERTION:
            self._computation.copy(MAIN, INSERTION)
        try:
            return list(self._likeliest(ids, count, sequence, cancellation))
        finally:
            if sequence == INSERTION:
                self._computation.remove(INSERTION, -1)
            elif not (self._editor.can_drop_tail and self._computation.remove(MAIN, len(before.tokens))):
                self._forget()
                if before.tokens:
                    # A cancelled preview must also leave the context as it was.
                    self._edit(before.tokens, observe=False, cancellation=Cancellation())

    def _likeliest(self, ids: list[int], count: int, sequence: int, cancellation: Cancellation) -> Iterator[int]:
        place = len(self._held.tokens)
        logits = None if self._settled is None else self._settled.logits
        for start in range(0, len(ids), BATCH_TOKENS):
            part = ids[start : start + BATCH_TOKENS]
            cancellation.require_going_on("The preview")
            self._computation.decode(part, place, sequence)
            place += len(part)
        if ids:
            logits = self._computation.logits()
        for number in range(count):
            if logits is None:
                return
            cancellation.require_going_on("The preview")
            chosen = int(np.argmax(logits))
            if self._model.vocabulary.ends_generation(chosen):
                return
            yield chosen
            if number + 1 < count:
                self._computation.decode([chosen], place, sequence)
                place += 1
                logits = self._computation.logits()

    def _require_known(self, token_ids: Sequence[int]) -> None:
        for token_id in token_ids:
            if not self._model.vocabulary.has(token_id):
                raise InputError(f"Token {token_id} is not in the vocabulary of {self._model.name}.")

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineError("The context is closed.")


def _log_probability(logits: NDArray[np.float32], token: int) -> float:
    shifted = logits.astype(np.float64) - logits.max()
    return float(shifted[token] - np.log(np.exp(shifted).sum()))
