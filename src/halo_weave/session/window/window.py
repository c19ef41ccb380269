"""One window: a conversation in progress. What lives in it is its own; what was said is the memory's.

Here is what it is and what is saved of it. The order of a turn is in `turn`; what a person can do to chunks is in
`actions`. A window does one thing at a time, and may be looked at meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.protocol import Attention, Engine, EngineContext, OnRead, Placed, SyncReport
from halo_weave.errors import StoreConflict, StoreError, WindowBusy
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import text_of_number
from halo_weave.records.tokens import Token
from halo_weave.records.windows import WindowRecord
from halo_weave.session.settings import WindowSettings, with_overrides
from halo_weave.session.window.audit_cursor import AuditCursor
from halo_weave.session.window.events import Event, EventLog
from halo_weave.session.window.journal import Journal
from halo_weave.session.window.living_context import LivingContext
from halo_weave.session.window.pending import PendingMessages
from halo_weave.session.window.reloading import bring_up_to_date, recover, reload, window_deleted
from halo_weave.session.window.reviving import Reviver
from halo_weave.session.window.saved_elsewhere import SavedElsewhere, saved_elsewhere
from halo_weave.session.window.saved_window import SavedChunk, SavedExchange, SavedWindow, decoded, encoded
from halo_weave.session.window.system_prompt import SystemPrompt, notes_in_words
from halo_weave.session.window.timeline import Timeline
from halo_weave.session.window.tool_calls import earlier_calls
from halo_weave.session.window.words import ChunkSizes, Positions, Word
from halo_weave.tools.registry import Toolbox
from halo_weave.weave.brightness.choosing import make_scorer
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.framing import ChatFrames
from halo_weave.weave.layout import Layout, OpenTurn
from halo_weave.weave.living import TurnKey

REMEMBERED_DELETIONS = 200
REMEMBERED_CALLS = 200
_MOST_CONFLICTS = 100
"""So often a save is tried again because another program saved the window at that moment."""
_PATIENCE_S = 0.5
"""So long somebody waits who finds the window busy: a pin or a deletion is over by then."""


class WindowEnvironment(NamedTuple):
    """What windows of one program share."""

    engine: Engine
    memory: Memory
    settings: WindowSettings
    sizes: ChunkSizes
    clock: Callable[[], datetime]
    toolbox: Toolbox | None = None
    is_private: bool = False
    """Whether nothing of the window may reach a file."""


class WindowRecorder(Protocol):
    """Takes down what the model saw and looked at; see `capture`."""

    def note_context(self, layout: Layout) -> None: ...

    def note_step(self, word: Word | None, attention: Attention | None) -> None: ...

    def note_event(self, event: Event) -> None: ...

    def finish(self) -> None: ...


class Newest(NamedTuple):
    """The newest exchange, and the positions from `free_from` up to `free_to` that its reply may still use."""

    turn_user: int
    turn_assistant: int
    free_from: int
    free_to: int

    @property
    def turns(self) -> frozenset[TurnKey]:
        return frozenset((TurnKey(self.turn_user, "user"), TurnKey(self.turn_assistant, "assistant")))


class Window:
    """Made by `opening`, which brings back what was saved, and does so again by `restore`."""

    def __init__(
        self,
        record: WindowRecord,
        around: WindowEnvironment,
        restore: Callable[["Window", WindowRecord], None],
        *,
        is_name_automatic: bool = False,
    ) -> None:
        self.restore = restore
        self._is_behind = False
        self._journal: Journal | None = None
        self.engine = around.engine
        self.memory = around.memory
        self.clock = around.clock
        self.toolbox = around.toolbox
        self.sizes = around.sizes
        self.is_private = around.is_private
        self.log = EventLog()
        self.pending = PendingMessages(self.memory.window_store, record.id, self.log)
        self.audit_cursor = AuditCursor(self.memory)
        self.life = LivingContext(self.memory, record.id, self.log, self.clock)
        self.life.keeps = self._keeps
        self.timeline = Timeline(self.memory, record.id, self.life.lock)
        self._writing: list[Token] = []
        self._messages = 0
        self._messages_at_reflection = 0
        self._newest: Newest | None = None
        self._dropped: deque[list[LiveChunk]] = deque(maxlen=REMEMBERED_DELETIONS)
        self._tool_calls: deque[dict[str, Any]] = deque(maxlen=REMEMBERED_CALLS)
        self._recorder: WindowRecorder | None = None
        self.active_at = around.clock()
        self._unembedded: list[int] = []
        """Chunks of this window that were written and not given to be embedded yet."""
        self._record = record
        self._elsewhere: SavedElsewhere | None = None
        """What another program saved during the work under way, and what is read at its end."""
        self._known_name, self._known_overrides, self._known_messages = record.name, dict[str, Any](), 0
        """As they were when the window was last read or saved."""
        self._is_name_automatic = is_name_automatic
        self._defaults = around.settings
        self._overrides: dict[str, Any] = {}
        self._work_changed = threading.Condition()
        self._cancellation: Cancellation | None = None
        """Of the work under way."""
        self._doing = ""
        self._engine_context: EngineContext | None = None
        self._must_reread = False
        self._latest_turn_read = -1
        self._prompt = SystemPrompt(self.toolbox, self.engine)
        self._apply_settings()

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def is_name_automatic(self) -> bool:
        """Whether the program named it, so that it may get a better name from its first message."""
        return self._is_name_automatic

    @property
    def version(self) -> int:
        """That it was saved or read as."""
        return self._record.version

    @property
    def overrides(self) -> Mapping[str, Any]:
        return self._overrides

    @property
    def engine_context(self) -> EngineContext:
        if self._engine_context is None:
            self._engine_context = self.engine.open_context()
        return self._engine_context

    def _keeps(self, token: Placed) -> bool:
        return self._engine_context is not None and self._engine_context.keeps(token)

    @property
    def usable_tokens(self) -> int:
        return self.engine.facts.usable_context

    @property
    def budget(self) -> int:
        """Tokens that may stay in the context between turns."""
        return self.settings.weave.budget(self.usable_tokens)

    @property
    def tokens(self) -> int:
        """All tokens that the model would see, with frames, system prompt and the reply under way."""
        with self.life.lock:
            return self.life.size() + len(self._writing)

    @property
    def writing(self) -> Sequence[Token]:
        """The reply under way."""
        return self._writing

    @property
    def newest(self) -> Newest | None:
        return self._newest

    @property
    def messages(self) -> int:
        return self._messages

    @property
    def messages_since_reflection(self) -> int:
        return self._messages - self._messages_at_reflection

    @property
    def tool_calls(self) -> Collection[dict[str, Any]]:
        """The latest calls of tools, with what came of them."""
        return self._tool_calls

    @property
    def recorder(self) -> WindowRecorder | None:
        return self._recorder

    @property
    def journal(self) -> Journal | None:
        """Of the turn under way, until all of it is saved."""
        return self._journal

    @property
    def is_behind(self) -> bool:
        """Whether something failed half-way, so that the window has to be read from its file before it goes on."""
        return self._is_behind

    @property
    def doing(self) -> str:
        """What the window is busy with; empty if it is not."""
        return self._doing

    @contextmanager
    def working(self, doing: str, cancellation: Cancellation | None = None) -> Iterator[Cancellation]:
        """For whatever changes the window: one at a time. What is short is waited for, a reply is not.

        Gives the work's cancellation, a new one if there is none yet. Whatever fails half-way leaves the window as its
        file has it, with what was written until then.
        """
        cancellation = cancellation or Cancellation()
        with self._work_changed:
            if not self._work_changed.wait_for(lambda: self._cancellation is None, _PATIENCE_S):
                raise WindowBusy(f"The window {self.name} is {self._doing}; wait until it finishes, or stop it.")
            self._cancellation, self._doing = cancellation, doing
        try:
            yield cancellation
            if self._elsewhere is not None:
                reload(self)
        except BaseException as error:
            recover(self, error)
            raise
        finally:
            self.active_at = self.clock()
            with self._work_changed:
                self._cancellation, self._doing = None, ""
                self._work_changed.notify_all()

    def wait_until_idle(self) -> None:
        with self._work_changed:
            self._work_changed.wait_for(lambda: self._cancellation is None)

    def stop(self) -> None:
        """End the reply under way; may be called from any thread, and does nothing if there is none."""
        with self._work_changed:
            cancellation = self._cancellation
        if cancellation is not None:
            cancellation.cancel()

    def sync(
        self,
        layout: Layout,
        opened: OpenTurn | None = None,
        *,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport:
        """Let the model see this; after a deletion without any trace of what was deleted."""
        read = [span.chunk.key.turn for span in layout.spans]
        # Before: if it is stopped or fails half-way, some of it was read all the same.
        self._latest_turn_read = max([self._latest_turn_read, *read, *([opened.turn.turn] if opened else [])])
        report = self.engine_context.sync(
            layout.placed, clean=self._must_reread, cancellation=cancellation, on_read=on_read
        )
        self._must_reread = False
        return report

    def drop(self, keys: Collection[ChunkKey], why: str, *, is_whole_exchange: bool = False) -> list[LiveChunk]:
        """Take deleted chunks out of the context, so that nothing of them is left in what the model goes on with.

        What was read after them knows them, in the cache and in what is kept of it, and has to be read again. Nothing
        was if they are the whole of the latest exchange that the model has seen.
        """
        is_tail = is_whole_exchange and self._latest_turn_read <= max((key.turn for key in keys), default=-1)
        self._must_reread = self._must_reread or not is_tail
        self.timeline.note(keys, "deleted", why)
        return self.life.drop(keys)

    def reread(self) -> None:
        """Let the model read its context again, without a trace of what is no longer in it."""
        self._must_reread = True

    def begin_turn(
        self,
        newest: Newest,
        time: datetime,
        marks: Mapping[str, Any],
        *,
        supersedes: int | None = None,
    ) -> Journal:
        """Note down that this exchange begins, in the place of the one whose question is `supersedes`, if any."""
        self._journal = Journal(self.memory.window_store, self.id, newest.turn_assistant)
        self._journal.begin(newest.turn_user, time, dict(marks), supersedes=supersedes)
        return self._journal

    def end_turn(self) -> None:
        """All of the turn is saved; what it wrote is embedded in the background."""
        if self._journal is not None:
            self._journal.clear()
            self._journal = None
        self.embed_written()

    def write(self, chunks: Sequence[Chunk]) -> None:
        """Put chunks into the memory, durably; they are embedded by `embed_written`."""
        self._unembedded += self.memory.write(chunks)

    def embed_written(self) -> None:
        taken, self._unembedded = self._unembedded, []
        self.memory.embed_later(taken)

    def set_newest(self, newest: Newest | None) -> None:
        """The exchange that can be continued, regenerated and edited from now on."""
        self._newest = newest

    def use_positions(self, positions: Positions, used: int) -> None:
        """The newest reply goes on behind so many of these positions."""
        assert self._newest is not None
        free_from, free_to = positions.rest(used)
        self._newest = self._newest._replace(free_from=free_from, free_to=free_to)

    def count_message(self) -> None:
        self._messages += 1

    def note_reflection(self) -> None:
        self._messages_at_reflection = self._messages

    def begin_writing(self) -> None:
        self._writing.clear()

    def show_word(self, token: Token) -> None:
        self._writing.append(token)

    def end_writing(self) -> None:
        with self.life.lock:
            self._writing.clear()

    def note_tool_call(self, entry: dict[str, Any]) -> None:
        self._tool_calls.append(entry)

    def list_tool_calls(self) -> None:
        """Those that living chunks tell of, in the place of all that are listed."""
        self._tool_calls.clear()
        self._tool_calls.extend(earlier_calls(self.life.context))

    def record_with(self, recorder: WindowRecorder | None) -> None:
        """Have everything that the model sees taken down, or no longer."""
        self._recorder = recorder

    def remember_deletion(self, dropped: list[LiveChunk]) -> None:
        """What lived here when it was deleted, so that it can live again as it was."""
        self._dropped.append(dropped)

    def take_dropped(self, keys: Collection[ChunkKey]) -> list[LiveChunk]:
        """Those of them that lived here when they were deleted, unless that is long ago; they are not given twice."""
        found = {chunk.key: chunk for gone in self._dropped for chunk in gone if chunk.key in keys}
        for gone in self._dropped:
            gone[:] = [chunk for chunk in gone if chunk.key not in keys]
        return [found[key] for key in keys if key in found]

    def fall_behind(self) -> None:
        """Something failed half-way."""
        self._is_behind = True
        self.end_writing()

    def note_reloaded(self) -> None:
        self._journal, self._is_behind = None, False

    def take_saved(self, saved: SavedWindow, newest: Newest | None) -> None:
        """Go on with these counts, this newest exchange, and what was read of the memory's audit log."""
        self._messages, self._messages_at_reflection = saved.messages, saved.messages_at_reflection
        self._newest = newest
        self._is_name_automatic = saved.is_name_automatic
        self.audit_cursor.seen = saved.news_seen
        self.timeline.begin_with(saved.chunks)
        self._elsewhere = None
        self._note_known(saved.messages)

    def take_record(self, record: WindowRecord, overrides: Mapping[str, Any]) -> None:
        """Be the window of this name and version, with these settings of its own."""
        told = list(self.life.frames.beginning)
        self._record = record
        self._overrides = dict(overrides)
        self._apply_settings()
        # What was read after another system prompt would still follow that one.
        self._must_reread = self._must_reread or told != list(self.life.frames.beginning)

    def rename(self, name: str) -> None:
        self.change(name=name)

    def set_overrides(self, overrides: Mapping[str, Any]) -> None:
        self.change(overrides=overrides)

    def change(self, *, name: str | None = None, overrides: Mapping[str, Any] | None = None) -> None:
        """Another name, or other settings of this window alone in the place of all that it had; both or neither.

        Settings are by dotted names; all others are the program's.
        """
        with_overrides(self._defaults, overrides or {})
        with self.working("being changed"):
            bring_up_to_date(self)
            record = self._record if name is None else msgspec.structs.replace(self._record, name=name)
            self._is_name_automatic = self._is_name_automatic and name is None
            self.take_record(record, self._overrides if overrides is None else overrides)
            self.life.prune(self.budget)
            self.save()
            if name is not None:
                self.log.tell("changed", name=name)
            if overrides is not None:
                self.log.tell("changed", overrides=self._overrides, recalls=self.settings.weave.resurrection)

    def take_title(self, title: str) -> None:
        """For the work under way: be called this from now on, and keep that name; saved with the next save."""
        self._is_name_automatic = False
        self._record = msgspec.structs.replace(self._record, name=title)
        self.log.tell("changed", name=title)

    def use_defaults(self, settings: WindowSettings) -> None:
        """Go by these settings of the program from now on, where this window has none of its own."""
        if settings != self._defaults:
            with_overrides(settings, self._overrides)
            with self.working("being set"):
                self._defaults = settings
                self._apply_settings()

    def save(self) -> None:
        """Keep which chunks live and how bright, and what was buried; the words are in the memory already.

        If another program saved the window meanwhile, what it added is kept too, and is read when the work ends.
        """
        for _ in range(_MOST_CONFLICTS):
            try:
                self._put()
                return
            except StoreConflict:
                self._take_elsewhere()
        raise WindowBusy(f"Another program saves the window {self.name} all the time; close it there and try again.")

    def _put(self) -> None:
        ours = SavedWindow(
            scorer=self.scorer.name,
            chunks=tuple(SavedChunk.of(chunk) for chunk in self.life.context),
            newest=None if self._newest is None else SavedExchange(*map(text_of_number, self._newest)),
            overrides=self._overrides,
            messages=self._messages,
            messages_at_reflection=self._messages_at_reflection,
            news_seen=self.audit_cursor.seen,
            tokens=self.tokens,
            is_name_automatic=self._is_name_automatic,
        )
        both = ours if self._elsewhere is None else self._elsewhere.added_to(ours)
        record = msgspec.structs.replace(self._record, state=encoded(both), saved_at=self.clock())
        with self.life.lock:
            buried, raised = self.life.burial_log.unsaved()
            version = self.memory.window_store.put_window(
                record, buried=buried, raised=raised, timeline=self.timeline.unsaved(self.life.context, buried)
            )
            self.life.burial_log.note_saved()
            self.timeline.note_saved(self.life.context)
        self._record = msgspec.structs.replace(record, version=version)
        self._note_known(both.messages)

    def _take_elsewhere(self) -> None:
        """Keep what another program saved. The context in use stays as it is, because the model may be reading it."""
        other = self.memory.window_store.window(self.id)
        if other is None:
            raise window_deleted(self.name)
        theirs = decoded(other.state, other.name)
        with self.life.lock:
            buried, _ = self.life.burial_log.unsaved()
            self._elsewhere = saved_elsewhere(
                theirs,
                self._elsewhere,
                buried={burial.key for burial in buried},
                messages_before=self._known_messages,
            )
            self.life.burial_log.exhume(self.life.context.keys())
        name = self.name if self.name != self._known_name else other.name
        self._record = msgspec.structs.replace(other, name=name)
        if self._overrides == self._known_overrides:
            self._overrides = dict(theirs.overrides)

    def _note_known(self, messages: int) -> None:
        self._known_name, self._known_messages = self.name, messages
        self._known_overrides = dict(self._overrides)

    def close(self) -> None:
        with self.working("being closed"):
            if self.is_behind:
                with suppress(StoreError):
                    bring_up_to_date(self)
            if self._engine_context is not None:
                self._engine_context.close()
                self._engine_context = None
            if self._recorder is not None:
                self._recorder.finish()
            self.log.tell("closed")
            self.log.close()

    def _apply_settings(self) -> None:
        self.settings = with_overrides(self._defaults, self._overrides)
        self.scorer = make_scorer(self.settings.brightness)
        frames = ChatFrames(self.engine, self._prompt.of(self.settings), shows_times=self.settings.weave.show_times)
        self.note_tokens = len(self.engine.tokenize(notes)) if (notes := notes_in_words(self.settings.chat)) else 0
        reviver = Reviver(self.memory, self.engine, self.scorer)
        self.life.follow(self.settings.weave, self.budget, frames, reviver)
        with self.life.lock:
            for chunk in self.life.context:
                if len(chunk.state) != self.scorer.lanes:
                    chunk.state = self.scorer.revived(len(chunk.tokens), chunk.peak)
