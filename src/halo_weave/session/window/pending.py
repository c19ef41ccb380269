"""Messages that wait until the reply in progress ends. They are journalled, so that a crash loses none."""

import secrets
import threading

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.store.windows import WindowStore
from halo_weave.session.window.events import EventLog

PENDING_TURN = 0
"""Their place in the window's journal. No exchange has this turn; see `FIRST_TURN`."""
MOST_MESSAGES = 20
MOST_BYTES = 4 * 1024 * 1024


class PendingMessage(msgspec.Struct, frozen=True):
    id: str
    text: str


class PendingMessages:
    """Thread-safe, because messages come and go while the window works. Every change is journalled, then reported."""

    def __init__(self, store: WindowStore, window_id: str, log: EventLog) -> None:
        self._store = store
        self._window_id = window_id
        self._log = log
        self._messages: tuple[PendingMessage, ...] = ()
        self._lock = threading.Lock()

    @property
    def messages(self) -> tuple[PendingMessage, ...]:
        """In the order in which they are sent."""
        return self._messages

    def load(self) -> None:
        """Take up those that an earlier process left. They wait until somebody sends them."""
        lists = [payload for turn, payload in self._store.journal(self._window_id) if turn == PENDING_TURN]
        if lists:
            self._messages = msgspec.msgpack.decode(lists[-1], type=tuple[PendingMessage, ...])

    def add(self, text: str) -> PendingMessage:
        message = PendingMessage(secrets.token_hex(8), _checked(text))
        with self._lock:
            if len(self._messages) >= MOST_MESSAGES:
                raise InputError(f"{MOST_MESSAGES} messages are waiting already; nothing was added.")
            self._set((*self._messages, message))
        return message

    def change(self, message_id: str, text: str) -> None:
        """Raises InputError if the message does not wait any more."""
        changed = PendingMessage(message_id, _checked(text))
        with self._lock:
            self._require(message_id)
            self._set(tuple(changed if one.id == message_id else one for one in self._messages))

    def withdraw(self, message_id: str) -> None:
        """Raises InputError if the message does not wait any more."""
        with self._lock:
            self._require(message_id)
            self._set(tuple(one for one in self._messages if one.id != message_id))

    def note_sent(self, message_id: str) -> None:
        """The message is in the memory; does nothing if it was withdrawn at the last moment."""
        with self._lock:
            if any(one.id == message_id for one in self._messages):
                self._set(tuple(one for one in self._messages if one.id != message_id))

    def _require(self, message_id: str) -> None:
        if all(one.id != message_id for one in self._messages):
            raise InputError("This message does not wait any more: it was sent or withdrawn. Nothing was changed.")

    def _set(self, messages: tuple[PendingMessage, ...]) -> None:
        size = sum(len(one.text.encode()) for one in messages)
        if size > MOST_BYTES and len(messages) >= len(self._messages):
            raise InputError(
                f"The waiting messages have {size:,} bytes, more than the limit of {MOST_BYTES:,}; nothing was added."
            )
        if messages:
            self._store.journal_replace(self._window_id, PENDING_TURN, msgspec.msgpack.encode(messages))
        else:
            self._store.journal_clear(self._window_id, PENDING_TURN)
        self._messages = messages
        self._log.tell("pending", messages=msgspec.to_builtins(messages))


def _checked(text: str) -> str:
    if not text.strip():
        raise InputError("The message is empty; nothing was queued.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The message has an unpaired surrogate at index {error.start}; nothing was queued.") from None
    return text
