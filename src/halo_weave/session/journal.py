"""The reply under way, noted down as it comes, so that a crash takes back at most the last quarter of a second."""

import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from halo_weave.background import BackgroundThread
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
    """`marks` are those that the words have beyond the exchange's own: by them a tool's words are known."""

    positions: tuple[str, ...]
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    marks: dict[str, Any] = {}

    @classmethod
    def of(cls, words: Sequence[Word], marks: dict[str, Any]) -> "Written":
        positions = tuple(text_of_number(word.position) for word in words)
        return cls(positions, tuple(word.id for word in words), tuple(word.text for word in words), marks)

    def words(self) -> Iterator[Word]:
        return map(Word, map(number_of_text, self.positions), self.ids, self.texts)


Note = Begun | Written


class Journal:
    """Entered while the model writes, once for each round; a thread notes down what was added since it last did.

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
        self._thread: BackgroundThread | None = None

    def begin(self, turn_user: int, time: datetime, marks: dict[str, Any], *, supersedes: int | None = None) -> None:
        earlier = None if supersedes is None else text_of_number(supersedes)
        self._note(Begun(text_of_number(turn_user), text_of_number(self._turn), time, marks, earlier))

    def add(self, word: Word) -> None:
        with self._lock:
            self._pending.append(word)
        self._has_news.set()

    def add_marked(self, words: Sequence[Word], marks: dict[str, Any]) -> None:
        """Words that are not the model's; noted down when this returns."""
        try:
            self._note(Written.of(words, marks))
        except StoreError as error:
            _log.warning("The result of a tool cannot be noted down: %s", error)

    def clear(self) -> None:
        """The reply is in the memory."""
        self._store.journal_clear(self._window_id, self._turn)

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
            self._note(Written.of(pending, {}))

    def _note(self, note: Note) -> None:
        self._store.journal_append(self._window_id, self._turn, msgspec.msgpack.encode(note))


class Noted(NamedTuple):
    """What was begun and written of a reply."""

    begun: Begun | None
    written: list[Written]


def noted(store: Store, window_id: str) -> dict[int, Noted]:
    """By turn of the reply, in order of the notes, all that was not cleared."""
    found: dict[int, Noted] = {}
    for turn, payload in store.journal(window_id):
        known = found.setdefault(turn, Noted(None, []))
        note = msgspec.msgpack.decode(payload, type=Note)
        if isinstance(note, Begun):
            found[turn] = known._replace(begun=note)
        else:
            known.written.append(note)
    return found
