"""Opens a window: restores its saved state and completes exchanges that a crash interrupted."""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

from halo_weave.errors import InputError
from halo_weave.former_settings import FORMER_SETTINGS, former_setting_notice
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import number_of_text
from halo_weave.records.windows import WindowRecord
from halo_weave.session.settings import is_usable
from halo_weave.session.window.deleting import SUPERSEDED, delete_exchange
from halo_weave.session.window.external_changes import take_news
from halo_weave.session.window.journal import Begun, JournalNote, Noted, noted
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.saved_chunks import SavedChunks
from halo_weave.session.window.saved_window import SavedExchange, SavedWindow, decoded
from halo_weave.session.window.window import Newest, Window, WindowEnvironment
from halo_weave.session.window.words import ChunkSizes, Word, cut
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import TurnKey

_FULL = NEW_BRIGHTNESS
_LONGEST_NAME = 200
_INTERRUPTED = {"ending": "interrupted"}


def new_window_id() -> str:
    return secrets.token_hex(8)


def new_window(
    around: WindowEnvironment,
    name: str,
    window_id: str,
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    is_name_automatic: bool = False,
) -> Window:
    record = WindowRecord(window_id, checked_name(name), b"", 0, around.clock())
    window = Window(record, around, restore, is_name_automatic=is_name_automatic)
    window.take_record(record, overrides)
    window.audit_cursor.entries()  # skips the log so far: an empty window is not affected by it
    window.save()
    return window


def reopened(around: WindowEnvironment, record: WindowRecord) -> Window:
    """The window as it was saved, plus the exchanges that were in progress when its process ended."""
    window = Window(record, around, restore)
    _take_saved(window, record)
    window.pending.load()
    _bring_all_to_end(window, noted(window.memory.window_store, window.id))
    window.list_tool_calls()
    return window


def restore(window: Window, record: WindowRecord) -> None:
    """Reset an open window to its saved state, plus its exchange in progress.

    Other exchanges in progress are left alone: they belong to another process, which may still be running.
    """
    lived = window.life.context.keys()
    _take_saved(window, record)
    if window.journal is not None:
        all_noted, turn = noted(window.memory.window_store, window.id), window.journal.turn
        _bring_all_to_end(window, {turn: all_noted[turn]} if turn in all_noted else {})
    left = lived - window.life.context.keys()
    stored = window.memory.chunks_by_keys(left)
    if any(key not in stored or stored[key].chunk.deleted for key in left):
        window.reread()
    window.list_tool_calls()


def _take_saved(window: Window, record: WindowRecord) -> None:
    saved = decoded(record.state, record.name)
    overrides = {name: value for name, value in saved.overrides.items() if is_usable(name, value)}
    window.take_record(record, overrides)
    for name in (name for name in saved.overrides if name not in overrides):
        window.log.tell("notice", text=_notice_of_unusable(name, saved.overrides[name]))
    newest = None if saved.newest is None else _newest(saved.newest)
    window.take_saved(saved, newest)
    window.life.begin_with(_revived(window, saved), frozenset() if newest is None else newest.turns)
    take_news(window)


def _notice_of_unusable(name: str, value: object) -> str:
    if name in FORMER_SETTINGS:
        return former_setting_notice(name, "of this window")
    setting = f"{name} = {str(value)[:40]}"
    return f"This window's setting {setting} is not valid in this version; the program's setting is used instead."


def _newest(saved: SavedExchange) -> Newest:
    return Newest(*map(number_of_text, (saved.turn_user, saved.turn_assistant, saved.free_from, saved.free_to)))


def checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"A window's name must have 1 to {_LONGEST_NAME} printable characters; {name[:40]!r} is not valid."
        )
    return name


def _revived(window: Window, saved: SavedWindow) -> list[LiveChunk]:
    same_scorer = saved.scorer == window.scorer.name
    living: dict[ChunkKey, LiveChunk] = {}
    stored = SavedChunks(window.memory, saved.chunks)
    for one in saved.chunks:
        chunk = stored.as_it_is_now(one)
        if chunk is None or chunk.deleted or chunk.key in living:
            continue
        live = living[chunk.key] = window.life.reviver.as_before(
            chunk,
            one.brightness_rows(),
            same_scorer=same_scorer,
            is_pinned=one.is_pinned,
            turn_start=stored.turn_start(chunk),
        )
        live.returned = one.returned
        if chunk.key == one.key.key:  # in a chunk that it was merged into, the words are elsewhere
            live.looked_at = one.looked_at
    foreign = sum(live.is_foreign for live in living.values())
    if foreign:
        window.log.tell(
            "notice",
            text=f"{foreign} chunks were written with another model and have been tokenised again for this one.",
        )
    return list(living.values())


def _bring_all_to_end(window: Window, cut_off: Mapping[int, Noted]) -> None:
    """Complete exchanges that a crash or an error interrupted."""
    for turn, (begun, written) in cut_off.items():
        if begun is not None:
            _bring_to_end(window, turn, begun, written)
    if cut_off:
        window.save()
        for turn in cut_off:
            window.memory.window_store.journal_clear(window.id, turn)
    window.embed_written()


def _bring_to_end(window: Window, turn: int, begun: Begun, notes: Sequence[JournalNote]) -> None:
    user, assistant = TurnKey(number_of_text(begun.turn_user), "user"), TurnKey(turn, "assistant")
    question = _chunks(window, user)
    if not question:
        return  # the message was never shown, so there is nothing to recover
    if begun.supersedes is not None:
        delete_exchange(window, number_of_text(begun.supersedes), SUPERSEDED)
    answer = _chunks(window, assistant)
    known = {position for chunk in answer for position in range(chunk.first_position, chunk.end_position)}
    written: list[Chunk] = []
    first_index = window.memory.next_index(*assistant)
    for marks, words in _unwritten(notes, known):
        written += cut(
            words,
            assistant,
            first_index=first_index + len(written),
            time=begun.time,
            metadata=metadata_of(window.id, window.engine.facts.name, {**begun.marks, **marks}),
            sizes=window.sizes if marks == _INTERRUPTED else ChunkSizes(min_tokens=len(words), max_tokens=0),
        )
    if written:
        window.write(written)
        answer += written
        window.log.tell("notice", text="The last reply was interrupted; the text so far is kept.")
    buried = window.life.burial_log.among(chunk.key for chunk in (*question, *answer))
    window.life.add(
        window.life.reviver.alive(chunk, brightness=_FULL)
        for chunk in (*question, *answer)
        if chunk.key not in window.life.context and chunk.key not in buried and not chunk.deleted
    )
    if window.newest is None or window.newest.turn_assistant <= turn:
        ends = [chunk.end_position for chunk in (*question, *answer)]
        window.set_newest(Newest(user.turn, turn, max(ends), max(ends)))


def _unwritten(notes: Sequence[JournalNote], known: Collection[int]) -> Iterator[tuple[dict[str, Any], list[Word]]]:
    """Journalled words that are not in the memory, in runs by the model or by a tool, each with its marks."""
    words = [(note.marks or _INTERRUPTED, word) for note in notes for word in note.words()]
    words.sort(key=lambda marked: marked[1].position)
    for marks, run in groupby((one for one in words if one[1].position not in known), key=lambda marked: marked[0]):
        yield marks, [word for _, word in run]


def _chunks(window: Window, turn: TurnKey) -> list[Chunk]:
    stored = (entry.chunk for entry in window.memory.chunks_of_turn(turn.turn))
    return [chunk for chunk in stored if chunk.key.role == turn.role]
