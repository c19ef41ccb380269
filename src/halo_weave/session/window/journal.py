"""Journals the reply in progress, so that a crash loses at most the last quarter of a second."""

import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from halo_weave.errors import StoreError
from halo_weave.memory.store.windows import WindowStore
from halo_weave.records.numbers import number_of_text, text_of_number
from halo_weave.session.window.pending import PENDING_TURN
from halo_weave.session.window.words import Word
from halo_weave.system.background import BackgroundThread

_INTERVAL_S = 0.1
_log = logging.getLogger(__name__)


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """An exchange whose question is about to be written. If `supersedes` is set, it replaces the exchange with that
    question. Turns are unbounded, so they are stored as text."""

    turn_user: str
    turn_assistant: str
    time: datetime
    marks: dict[str, Any]
    supersedes: str | None = None


class JournalNote(msgspec.Struct, frozen=True, tag="written"):
    """`marks` are the words' own marks in addition to those of the exchange; they identify tool results."""

    positions: tuple[str, ...]
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    marks: dict[str, Any] = {}

    @classmethod
    def of(cls, words: Sequence[Word], marks: dict[str, Any]) -> "JournalNote":
        positions = tuple(text_of_number(word.position) for word in words)
        return cls(positions, tuple(word.id for word in words), tuple(word.text for word in words), marks)

    def words(self) -> Iterator[Word]:
        return map(Word, map(number_of_text, self.positions), self.ids, self.texts)


Note = Begun | JournalNote


class Journal:
    """Entered once per round, while the model writes. A thread writes the words that were added since its last write.

    A disk error is logged and does not end the reply. Words that could not be written are tried again.
    """

    def __init__(self, store: WindowStore, window_id: str, turn: int) -> None:
        self._store = store
        self._window_id = window_id
        self.turn = turn
        self._begun: Begun | None = None
        self._pending: list[Word] = []
        self._has_failed = False
        self._lock = threading.Lock()
        self._has_news = threading.Event()
        self._is_over = threading.Event()
        self._thread: BackgroundThread | None = None

    def begin(self, turn_user: int, time: datetime, marks: dict[str, Any], *, supersedes: int | None = None) -> None:
        earlier = None if supersedes is None else text_of_number(supersedes)
        self._begun = Begun(text_of_number(turn_user), text_of_number(self.turn), time, marks, earlier)
        self._note(self._begun)

    def add(self, word: Word) -> None:
        with self._lock:
            self._pending.append(word)
        self._has_news.set()

    def add_marked(self, words: Sequence[Word], marks: dict[str, Any]) -> None:
        """Journal words that are not the model's, before this returns."""
        try:
            self._note(JournalNote.of(words, marks))
        except StoreError as error:
            _log.warning("Cannot write a tool result to the journal: %s", error)

    def note_all(self) -> None:
        """Write everything that is missing, so that the exchange can be recovered. Another process that opened the
        window may have cleared the journal; a second `Begun` does no harm."""
        if self._begun is not None:
            self._note(self._begun)
        self._write_pending()

    def clear(self) -> None:
        """Clear the journal, once the reply is in the memory."""
        self._store.journal_clear(self._window_id, self.turn)

    def __enter__(self) -> Self:
        self._is_over.clear()
        self._thread = BackgroundThread("journal", self._work)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._has_news.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._is_over.is_set():
            self._has_news.wait()
            self._has_news.clear()
            self._try_to_write()
            self._is_over.wait(_INTERVAL_S)
        self._try_to_write()

    def _try_to_write(self) -> None:
        try:
            self._write_pending()
        except StoreError as error:
            if not self._has_failed:
                _log.warning("Cannot write the current reply to the journal: %s", error)
            self._has_failed = True

    def _write_pending(self) -> None:
        """Words stay pending until they are written."""
        with self._lock:
            pending = list(self._pending)
        if pending:
            self._note(JournalNote.of(pending, {}))
            with self._lock:
                del self._pending[: len(pending)]

    def _note(self, note: Note) -> None:
        self._store.journal_append(self._window_id, self.turn, msgspec.msgpack.encode(note))


class Noted(NamedTuple):
    """The journalled start and words of a reply."""

    begun: Begun | None
    written: list[JournalNote]


def noted(store: WindowStore, window_id: str) -> dict[int, Noted]:
    """All journal entries that were not cleared, by the turn of the reply and in order."""
    found: dict[int, Noted] = {}
    for turn, payload in (entry for entry in store.journal(window_id) if entry.turn != PENDING_TURN):
        known = found.setdefault(turn, Noted(None, []))
        note = msgspec.msgpack.decode(payload, type=Note)
        if isinstance(note, Begun):
            found[turn] = known._replace(begun=note)
        else:
            known.written.append(note)
    return found
