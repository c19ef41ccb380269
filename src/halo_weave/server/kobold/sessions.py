"""The contexts that a server holds for its clients: named ones, and a few for requests without a context."""

import secrets
from collections import OrderedDict
from collections.abc import Sequence

from halo_weave.engine.difference import common_prefix
from halo_weave.engine.protocol import AttentionChoice, Engine, EngineContext, Placed
from halo_weave.errors import HaloError


class NoSuchContext(HaloError):
    pass


class RevisionMismatch(HaloError):
    pass


class ServerBusy(HaloError):
    pass


class Session:
    """An engine context and the revision that its client knows. A revision number is never used for other content."""

    def __init__(self, context: EngineContext) -> None:
        self.context_id = secrets.token_hex(8)
        self.context = context
        self.revision = 0
        self.held: list[Placed] = []
        self.requests = 0

    def require_revision(self, revision: int | None) -> None:
        if revision != self.revision:
            raise RevisionMismatch(
                f"The context {self.context_id} is at revision {self.revision}, not {revision}; send the whole context."
            )

    def note_change(self) -> None:
        """Record the current content of the engine's context as a new revision."""
        self.held = self.context.tokens
        self.revision += 1


class Sessions:
    """Holds at most `most_open` contexts. A new one replaces the idle one that was used least recently."""

    def __init__(self, engine: Engine, most_open: int) -> None:
        self._engine = engine
        self._most_open = most_open
        self._open: OrderedDict[str, Session] = OrderedDict()

    def find(self, context_id: str) -> Session:
        session = self._open.get(context_id)
        if session is None:
            raise NoSuchContext(f"There is no context {context_id[:40]!r}; open one and send the whole context.")
        self._open.move_to_end(context_id)
        return session

    def add(self, attention: AttentionChoice | None) -> Session:
        """Calls the engine: run it in the worker thread, while holding the turn."""
        self._make_room()
        session = Session(self._engine.open_context(attention=attention))
        self._open[session.context_id] = session
        return session

    def remove(self, session: Session) -> None:
        """Calls the engine, like `add`."""
        if self._open.pop(session.context_id, None) is not None:
            session.context.close()

    def close(self) -> None:
        for session in list(self._open.values()):
            self.remove(session)

    def _make_room(self) -> None:
        while len(self._open) >= self._most_open:
            idle = next((session for session in self._open.values() if not session.requests), None)
            if idle is None:
                raise ServerBusy(f"All {self._most_open} contexts of this server are in use; try again later.")
            self.remove(idle)


class StatelessContexts:
    """A few contexts for requests that send all their tokens. The one with the longest common beginning is reused."""

    def __init__(self, engine: Engine, most_open: int = 2) -> None:
        self._engine = engine
        self._most_open = most_open
        self._open: list[tuple[AttentionChoice | None, EngineContext]] = []

    def take(self, tokens: Sequence[Placed], attention: AttentionChoice | None) -> EngineContext:
        """Calls the engine, like `Sessions.add`. The context belongs to the caller for as long as it holds the turn."""
        best = max(
            ((choice, context) for choice, context in self._open if choice == attention),
            key=lambda entry: common_prefix(entry[1].tokens, tokens),
            default=None,
        )
        if best is not None and (len(self._open) >= self._most_open or _is_continued(best[1].tokens, tokens)):
            self._open.remove(best)
        else:
            best = (attention, self._new_context(attention))
        self._open.append(best)
        return best[1]

    def close(self) -> None:
        while self._open:
            self._open.pop()[1].close()

    def _new_context(self, attention: AttentionChoice | None) -> EngineContext:
        while len(self._open) >= self._most_open:
            self._open.pop(0)[1].close()
        return self._engine.open_context(attention=attention)


def _is_continued(held: Sequence[Placed], wanted: Sequence[Placed]) -> bool:
    """Whether they share at least half of the shorter one, and so are likely the same conversation."""
    return 2 * common_prefix(held, wanted) >= min(len(held), len(wanted))
