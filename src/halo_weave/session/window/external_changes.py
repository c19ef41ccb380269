"""Applies changes that others made to the memory: deleted chunks leave the window, merged chunks become one."""

from collections.abc import Collection, Iterable
from itertools import chain

import msgspec

from halo_weave.records.chunks import Action, AuditEntry, Chunk, ChunkKey
from halo_weave.records.windows import BurialRecord
from halo_weave.session.window.chunk_json import chunk_to_json, key_to_json
from halo_weave.session.window.reloading import bring_up_to_date
from halo_weave.session.window.reviving import window_of
from halo_weave.session.window.timeline import DELETED_ELSEWHERE, MERGED
from halo_weave.session.window.window import Window
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import TurnKey, turn_of
from halo_weave.weave.resurrection import ResurrectionPlan, anchor_revival, group_keys

_TAKEN_BACK = "Its deletion was undone."


def apply_external_changes(window: Window) -> None:
    """Called before every other operation on a window."""
    bring_up_to_date(window)
    take_news(window)


def take_news(window: Window) -> None:
    entries = window.audit_cursor.entries()
    for key in _keys(entries, "merge"):
        join_merged(window, key)
    for turn in {turn_of(key) for key in _keys(entries, "forget")}:
        _update_turn_start(window, turn)
    _drop_gone(window, entries)
    if undeleted := _keys(entries, "undelete"):
        _take_back(window, undeleted)


def join_merged(window: Window, gone: ChunkKey) -> None:
    """Update the living chunks of a turn after the chunk `gone` was merged; tokens keep their brightness."""
    life, turn = window.life, turn_of(gone)
    stored = [entry.chunk for entry in window.memory.chunks_of_turn(turn.turn) if entry.chunk.key.role == turn.role]
    with life.lock:
        living = life.context.of_turn(turn)
        for chunk in stored:
            parts = [part for part in living if chunk.first_position <= part.first_position < chunk.end_position]
            if parts and [(part.key, part.end_position) for part in parts] != [(chunk.key, chunk.end_position)]:
                for part in parts:
                    life.context.remove(part.key)
                life.burial_log.exhume([chunk.key])
                life.context.add(_joined(window, chunk, parts))
                window.timeline.note((gone, chunk.key), "merged", MERGED)
        grave = life.burial_log.exhume([gone]).get(gone)
        before = max((chunk for chunk in stored if chunk.key.index < gone.index), key=_key, default=None)
        if before is None:
            return
        if grave is not None and before.key not in life.context and before.key not in life.burial_log:
            life.burial_log.bury(msgspec.structs.replace(grave, key=before.key, first_position=before.first_position))
        if grave is not None or any(part.key == gone for part in living):
            merged = [chunk_to_json(chunk) for chunk in life.context if chunk.key == before.key]
            window.log.tell(
                "merged", key=key_to_json(before.key), gone=key_to_json(gone), chunk=merged[0] if merged else None
            )


def _drop_gone(window: Window, entries: Iterable[AuditEntry]) -> None:
    life = window.life
    known = {*_keys(entries, "delete"), *_keys(entries, "forget")}
    here: Iterable[ChunkKey] = {*(known & life.context.keys()), *life.burial_log.among(known)}
    if any(entry.action == "clear" for entry in entries):
        here = chain(life.context.keys(), life.burial_log)
    gone = {key for key in here if (stored := window.memory.chunk(key)) is None or stored.chunk.deleted}
    if gone:
        window.drop(gone, DELETED_ELSEWHERE)
        window.log.tell("deleted", keys=[key_to_json(key) for key in sorted(gone)], origin="elsewhere")


def _take_back(window: Window, keys: Collection[ChunkKey]) -> None:
    """Handle undeleted chunks: anchors that a living chunk of their exchange needs are revived; other chunks that this
    window wrote go to its graveyard."""
    life = window.life
    exchanges = {key.turn if key.role == "user" else key.turn - 1 for key in keys}
    wanted = {
        anchor: chunk.key
        for chunk in life.context
        if (chunk.key.turn if chunk.key.role == "user" else chunk.key.turn - 1) in exchanges
        for anchor in group_keys(chunk.key)[1:]
    }
    starting = life.starting_brightness()
    revivals = [anchor_revival(one, wanted[one.key], starting) for one in life.dormant(wanted, {}).values()]
    life.revive(ResurrectionPlan(tuple(revivals), 0))
    stored = window.memory.chunks_by_keys(keys)
    own = [
        entry.chunk
        for key, entry in stored.items()
        if not entry.chunk.deleted and window_of(entry.chunk) == window.id and key not in life.context
    ]
    with life.lock:
        buried = life.burial_log.among(chunk.key for chunk in own)
        new = [chunk for chunk in own if chunk.key not in buried]
        for chunk in new:
            life.burial_log.bury(BurialRecord(chunk.key, chunk.first_position, 0.0, _TAKEN_BACK, window.clock()))
        if new:
            told = [{"key": key_to_json(one.key), "peak": 0, "code": "undeleted", "reason": _TAKEN_BACK} for one in new]
            window.log.tell("buried", chunks=told)


def _update_turn_start(window: Window, turn: TurnKey) -> None:
    """If the start of a turn was forgotten for good, the turn now starts at its first remaining chunk."""
    context = window.life.context
    with window.life.lock:
        for chunk in context.of_turn(turn):
            stored = window.memory.chunk(chunk.key)
            if stored is not None:
                context.remove(chunk.key)
                chunk.turn_start = window.life.reviver.turn_start(stored.chunk)
                context.add(chunk)


def _joined(window: Window, chunk: Chunk, parts: list[LiveChunk]) -> LiveChunk:
    brightest = max(part.peak for part in parts)
    joined = window.life.reviver.alive(chunk, brightness=brightest, is_pinned=any(part.is_pinned for part in parts))
    if not joined.is_foreign:
        for part in parts:
            start = part.first_position - chunk.first_position
            joined.state[:, start : start + len(part.tokens)] = part.state
    return joined


def _key(chunk: Chunk) -> ChunkKey:
    return chunk.key


def _keys(entries: Iterable[AuditEntry], action: Action) -> list[ChunkKey]:
    return [entry.key for entry in entries if entry.action == action and entry.key is not None]
