"""The reply under way, noted down as it comes, so that a crash takes back at most the last quarter of a second."""

import logging
import threading
from collections.abc import Iterator
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import msgspec

from halo_weave.errors import StoreError
from halo_weave.memory.numbers import number_of_text, text_of_number
from halo_weave.memory.store import Store
from halo_weave.session.words import Word

_INTERVAL_S = 0.1
_log = logging.getLogger(__name__)


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """An exchange whose question is about to be written, in the place of the one whose question is `supersedes`, if
    that is named. Turns have no upper limit, so they are text."""

    turn_user: str
    turn_assistant: str
    time: datetime
    marks: dict[str, Any]
    supersedes: str | None = None


class Written(msgspec.Struct, frozen=True, tag="written"):
    positions: tuple[str, ...]
    ids: tuple[int, ...]
    texts: tuple[str, ...]

    def words(self) -> Iterator[Word]:
        return map(Word, map(number_of_text, self.positions), self.ids, self.texts)


Note = Begun | Written


class Journal:
    """Entered while a reply is written; a thread notes down what was added since it last did.

    A disk that fails is told in the log and ends the notes, not the reply.
    """

    def __init__(self, store: Store, window_id: str, turn: int) -> None:
        self._store = store
        self._window_id = window_id
        self._turn = turn
        self._pending: list[Word] = []
        self._lock = threading.Lock()
        self._has_news = threading.Event()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)

    def begin(self, turn_user: int, time: datetime, marks: dict[str, Any], *, supersedes: int | None = None) -> None:
        earlier = None if supersedes is None else text_of_number(supersedes)
        self._note(Begun(text_of_number(turn_user), text_of_number(self._turn), time, marks, earlier))

    def add(self, word: Word) -> None:
        with self._lock:
            self._pending.append(word)
        self._has_news.set()

    def clear(self) -> None:
        """The reply is in the memory."""
        self._store.journal_clear(self._window_id, self._turn)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._has_news.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._is_over.is_set():
                self._has_news.wait()
                self._has_news.clear()
                self._write_pending()
                self._is_over.wait(_INTERVAL_S)
            self._write_pending()
        except StoreError as error:
            _log.warning("The reply under way cannot be noted down: %s", error)

    def _write_pending(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, []
        if pending:
            positions = tuple(text_of_number(word.position) for word in pending)
            ids = tuple(word.id for word in pending)
            self._note(Written(positions, ids, tuple(word.text for word in pending)))

    def _note(self, note: Note) -> None:
        self._store.journal_append(self._window_id, self._turn, msgspec.msgpack.encode(note))


def noted(store: Store, window_id: str) -> dict[int, tuple[Begun | None, list[Word]]]:
    """What was begun and written by turn of the reply, in order, of all that was not cleared."""
    found: dict[int, tuple[Begun | None, list[Word]]] = {}
    for turn, payload in store.journal(window_id):
        begun, words = found.get(turn, (None, []))
        note = msgspec.msgpack.decode(payload, type=Note)
        if isinstance(note, Begun):
            found[turn] = note, words
        else:
            found[turn] = begun, [*words, *note.words()]
    return found
