"""Edits a computation until it holds a wanted list of tokens.

The order of the steps matters. Rows are saved before anything moves, because a save reads the keys as they are and a
move changes them only at the next decode. All remaining tokens then move to their new places at once. Kept rows are
restored before anything is decoded, so decoded text can see them. Decoding goes from left to right. The last token is
always decoded by itself: it yields the logits to continue with, carries out the moves, and its mask confirms the cells.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.difference import Difference, KeptRun, difference
from halo_weave.engine.llamacpp.attention import AttentionTap, Cells, widened
from halo_weave.engine.llamacpp.computation import BATCH_TOKENS, INSERTION, MAIN, RESTORATION, Computation
from halo_weave.engine.llamacpp.kept_rows import FoundRows, KeptRows, Rows
from halo_weave.engine.protocol import Attention, OnRead, Placed, SyncReport
from halo_weave.errors import EngineError

_OBSERVED_BATCH = 64
_FEWEST_KEPT = 4
"""Shorter runs are as fast to decode as to restore."""


class CellsUnknown(EngineError):
    """The cells of the cache are not where we expected them, so the context must be read again."""


class Held(NamedTuple):
    """The content of a computation: token i is at place i, in cell `cells[i]`."""

    tokens: list[Placed]
    cells: Cells


class Settled(NamedTuple):
    """The result of decoding the last token: logits for the next one, and its attention over all tokens held."""

    logits: NDArray[np.float32]
    attention: Attention | None


NOTHING = Held([], np.empty(0, dtype=np.int64))


class Editor:
    """The parts that editing needs; one per context."""

    def __init__(
        self,
        computation: Computation,
        tap: AttentionTap | None,
        kept: KeptRows,
        *,
        owner: int,
        is_editable: bool,
        can_drop_tail: bool,
    ) -> None:
        self.computation = computation
        self.tap = tap
        self.kept = kept
        self.owner = owner
        self.is_editable = is_editable
        self.can_drop_tail = can_drop_tail

    def settle(self, held: Held, last: Placed, *, after_edit: bool = False) -> tuple[Held, Settled]:
        """Decode one token after those held. After an edit, also check that the cells are as expected."""
        place = len(held.tokens)
        self.computation.decode([last.token_id], place, MAIN, "last")
        held = Held([*held.tokens, last], np.append(held.cells, self.new_cells(place, 1)))
        attention = None
        if after_edit:
            self._require_expected(held.cells)
        if self.tap is not None:
            rows = self.tap.rows()
            attention = None if rows is None else rows[0][..., held.cells]
        return held, Settled(self.computation.logits(), attention)

    def new_cells(self, place: int, count: int) -> Cells:
        """Return the cells of the tokens just decoded."""
        if self.tap is None or not self.is_editable:
            return np.arange(place, place + count)  # cells never move, or there is no tap that needs them
        cells = self.tap.cells()
        if len(cells) != count:
            raise CellsUnknown(f"The model reported the cells of only {len(cells)} of {count} tokens.")
        return cells

    def _require_expected(self, cells: Cells) -> None:
        visible = None if self.tap is None else self.tap.visible()
        if self.is_editable and visible is not None and not np.array_equal(np.sort(cells), visible):
            raise CellsUnknown("The model's cells do not match the context.")


class ContextEdit:
    """One edit in progress. If it fails, `held` has the tokens that are still valid."""

    def __init__(
        self,
        editor: Editor,
        old: Held,
        wanted: list[Placed],
        *,
        observe: bool,
        cancellation: Cancellation,
        on_read: OnRead | None = None,
    ) -> None:
        self._editor = editor
        self._computation = editor.computation
        self._wanted = wanted
        self._cells: Cells = np.full(len(wanted), -1, dtype=np.int64)
        self._observe = observe and editor.tap is not None
        self._cancellation = cancellation
        self._on_read = on_read
        self._to_read = 0
        self._observed: list[tuple[int, Attention]] = []
        self._restored = 0
        self._decoded = 0
        self._has_moves_to_carry_out = False
        self.held = old

    def run(self) -> tuple[SyncReport, Settled]:
        """Edit until the wanted tokens are held. There must be at least one."""
        old, self.held = self.held, NOTHING
        changes = difference(old.tokens, self._wanted)
        removed = sum(end - start for start, end in changes.removed)
        if self._editor.is_editable:
            body = _without_last(changes, len(self._wanted))
            self._save(old, changes.removed)
            self._move(old, body)
            missing = list(self._restore(body.inserted))
        else:
            body = self._keep_beginning(old, changes)
            missing = body.inserted
        self._to_read = sum(end - start for start, end in missing) + 1
        for start, end in missing:
            self._read(start, end)
        last = len(self._wanted) - 1
        self._require_going_on(last)
        body_held = Held(self._wanted[:last], self._cells[:last])
        self.held, settled = self._editor.settle(body_held, self._wanted[last], after_edit=True)
        self._cells = self.held.cells
        self._decoded += 1
        self._observe_rows(last, 1)
        kept = len(self._wanted) - self._restored - self._decoded
        report = SyncReport(kept, removed, self._restored, self._decoded, 0.0, *self._reading())
        return report, settled

    def _save(self, old: Held, removed: list[tuple[int, int]]) -> None:
        if self._editor.kept.is_off:
            return
        for start, end in removed:
            if end - start >= _FEWEST_KEPT:
                blob = self._computation.save(start, end)
                order = np.argsort(old.cells[start:end])
                self._editor.kept.keep(self._editor.owner, Rows(tuple(old.tokens[start:end]), start, order, blob))

    def _move(self, old: Held, changes: Difference) -> None:
        """Remove and move tokens: first the runs that move left, then those that move right."""
        for start, end in changes.removed:
            self._computation.remove(MAIN, start, end)
        runs = changes.kept
        for run in [*(run for run in runs if run.new < run.old), *(run for run in reversed(runs) if run.new > run.old)]:
            self._computation.shift(MAIN, run.old, run.old + run.length, run.new - run.old)
            self._has_moves_to_carry_out = True
        for run in runs:
            self._cells[run.new : run.new + run.length] = old.cells[run.old : run.old + run.length]

    def _keep_beginning(self, old: Held, changes: Difference) -> Difference:
        """Keep the common beginning and read the rest, for models that cannot be edited."""
        same = changes.kept[0].length if changes.kept and changes.kept[0][:2] == (0, 0) else 0
        same = min(same, len(self._wanted) - 1)
        if same < len(old.tokens) and not (self._editor.can_drop_tail and self._computation.remove(MAIN, same)):
            self._computation.clear()
            same = 0
        self._cells[:same] = old.cells[:same]
        rest = [(same, len(self._wanted) - 1)] if same < len(self._wanted) - 1 else []
        return Difference([KeptRun(0, 0, same)], [], rest)

    def _restore(self, inserted: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Restore all kept rows; yield the runs that must be decoded."""
        kept, owner = self._editor.kept, self._editor.owner
        for start, end in inserted:
            unread = place = start
            while place < end:
                found = kept.find(owner, self._wanted, place, end)
                if found is None or found.length < _FEWEST_KEPT or not self._put_back(found, place):
                    place += 1 if found is None else found.length
                    continue
                if unread < place:
                    yield unread, place
                place += found.length
                unread = place
            if unread < end:
                yield unread, end

    def _put_back(self, found: FoundRows, place: int) -> bool:
        computation, rows = self._computation, found.rows
        occupied = self._cells[self._cells >= 0]
        computation.fill_from_first_cell()
        if not computation.restore(rows.blob):
            self._editor.kept.drop(found.key)
            return False
        first = rows.first_place + found.offset
        if found.offset:
            computation.remove(RESTORATION, 0, first)
        if found.offset + found.length < len(rows.tokens):
            computation.remove(RESTORATION, first + found.length)
        computation.shift(RESTORATION, first, -1, place - first)
        computation.copy(RESTORATION, MAIN)
        computation.remove(RESTORATION, -1)
        self._has_moves_to_carry_out = True
        cells = np.empty(len(rows.tokens), dtype=np.int64)
        cells[rows.order] = _lowest_free(occupied, len(rows.tokens))
        self._cells[place : place + found.length] = cells[found.offset : found.offset + found.length]
        self._restored += found.length
        if found.length == len(rows.tokens):
            self._editor.kept.drop(found.key)
        return True

    def _read(self, start: int, end: int) -> None:
        """Decode a run of wanted tokens; a run between others in a separate sequence that holds all before it."""
        is_tail = bool(np.all(self._cells[end:] < 0))
        sequence = MAIN if is_tail else INSERTION
        if not is_tail:
            self._computation.copy(MAIN, INSERTION, 0, start)
        size = _OBSERVED_BATCH if self._observe else BATCH_TOKENS
        for place in range(start, end, size):
            self._require_going_on(place)
            ids = [token.token_id for token in self._wanted[place : min(place + size, end)]]
            self._computation.decode(ids, place, sequence, "all" if self._observe else "cells")
            self._has_moves_to_carry_out = False
            self._cells[place : place + len(ids)] = self._editor.new_cells(place, len(ids))
            self._decoded += len(ids)
            self._observe_rows(place, len(ids))
            if self._on_read is not None:
                self._on_read(self._decoded, self._to_read)
        if not is_tail:
            self._computation.copy(INSERTION, MAIN, start, end)
            self._computation.remove(INSERTION, -1)

    def _require_going_on(self, place: int) -> None:
        """Raise EngineStopped if cancelled. Tokens before `place` are valid if none follow and no moves are pending."""
        if self._cancellation.is_cancelled:
            if np.all(self._cells[place:] < 0) and not self._has_moves_to_carry_out:
                self.held = Held(self._wanted[:place], self._cells[:place])
            self._cancellation.require_going_on("Reading the context")

    def _observe_rows(self, place: int, count: int) -> None:
        if self._observe and self._editor.tap is not None and (rows := self._editor.tap.rows()) is not None:
            self._observed.append((place, rows[:count]))

    def _reading(self) -> tuple[NDArray[np.int64] | None, Attention | None]:
        """Return the observed rows over the wanted tokens. A cell that did not exist yet got no attention."""
        if not self._observed:
            return None, None
        width = int(self._cells.max()) + 1
        places, readings = [], []
        for place, rows in self._observed:
            places.append(np.arange(place, place + len(rows)))
            readings.append(widened(rows, width)[..., self._cells])
        return np.concatenate(places), np.concatenate(readings)


def _without_last(changes: Difference, count: int) -> Difference:
    """Return the same changes without the last wanted token, which is always decoded again."""
    kept, removed, inserted = list(changes.kept), list(changes.removed), list(changes.inserted)
    if inserted and inserted[-1][1] == count:
        start, end = inserted.pop()
        if end - start > 1:
            inserted.append((start, end - 1))
    else:
        run = kept.pop()
        last = run.old + run.length - 1
        removed.append((last, last + 1))
        if run.length > 1:
            kept.append(run._replace(length=run.length - 1))
    return Difference(kept, removed, inserted)


def _lowest_free(occupied: Cells, count: int) -> Cells:
    """Return the `count` lowest free cells, in ascending order."""
    is_free = np.ones(len(occupied) + count, dtype=bool)
    is_free[occupied[occupied < len(is_free)]] = False
    return np.flatnonzero(is_free)[:count]
