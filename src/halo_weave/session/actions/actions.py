"""A person's actions on the conversation: pin, resurrect, merge, delete, undo, edit and regenerate.

Nothing is lost here: deleted or superseded text is only marked as such and can be undeleted.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.turn.capacity import prune_to_budget
from halo_weave.session.turn.turn import ask, rewrite, working
from halo_weave.session.turn.turn_state import Reply
from halo_weave.session.window.chunk_json import chunk_to_json, key_to_json
from halo_weave.session.window.deleting import DELETED, chunks_of, delete_chunk, delete_exchange, text_of
from halo_weave.session.window.external_changes import apply_external_changes, join_merged
from halo_weave.session.window.reviving import TOOL, marks_of
from halo_weave.session.window.window import Newest, Window
from halo_weave.weave import resurrection
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import ANCHOR, TurnKey, turn_of

MERGED = "window"
"""The origin of merges in the memory's audit log."""


class Deletion(NamedTuple):
    """The deleted keys; `question` is the text of the question if the newest answer was deleted."""

    keys: tuple[ChunkKey, ...]
    question: str | None = None


def pin(window: Window, key: ChunkKey) -> None:
    """Protect a living chunk from burial, and make it as bright as new text."""
    with window.working("pinning"):
        apply_external_changes(window)
        chunk = _living(window, key)
        with window.life.lock:
            chunk.is_pinned = True
            chunk.shine(NEW_BRIGHTNESS)
            window.log.tell("pinned", key=key_to_json(key))
        window.save()


def unpin(window: Window, key: ChunkKey) -> None:
    with window.working("unpinning"):
        apply_external_changes(window)
        chunk = _living(window, key)
        with window.life.lock:
            chunk.is_pinned = False
            window.log.tell("unpinned", key=key_to_json(key))
        prune_to_budget(window)


def resurrect(window: Window, key: ChunkKey) -> None:
    """Bring back any chunk of the memory by hand: at full brightness, pinned, and with its anchors."""
    with window.working("resurrecting"):
        apply_external_changes(window)
        dormant = window.life.dormant(resurrection.group_keys(key), {})
        plan = resurrection.manual(key, window.life.context.keys(), dormant, starting=window.life.starting_brightness())
        if window.life.size() + plan.tokens > window.usable_tokens:
            raise InputError(
                f"Chunk {key} does not fit: it needs {plan.tokens} tokens with the openings it depends on, and "
                f"{window.life.size()} of {window.usable_tokens} are in use. Unpin something, or lower "
                "weave.budget_tokens."
            )
        window.life.revive(plan)
        prune_to_budget(window)


def merge(window: Window, key: ChunkKey) -> ChunkKey:
    """Merge a chunk with the previous chunk of its turn; returns the key of the merged chunk."""
    with window.working("merging"):
        apply_external_changes(window)
        before = [one for one in chunks_of(window, turn_of(key)) if one.key.index < key.index]
        if not before:
            raise InputError(f"Chunk {key} cannot be merged: it is the first chunk of its turn.")
        left = max(before, key=lambda chunk: chunk.first_position)
        if any(TOOL in marks_of(chunk) for chunk in chunks_of(window, turn_of(key)) if chunk.key in (left.key, key)):
            raise InputError(f"Chunk {key} cannot be merged: tool results and the model's own text stay separate.")
        merged = window.memory.merge(left.key, key, MERGED)
        join_merged(window, key)
        prune_to_budget(window)
        return merged.chunk.key


def delete(window: Window, key: ChunkKey, *, exchange: bool = False) -> Deletion:
    """Delete a chunk for all windows, or with `exchange` the whole exchange that it belongs to.

    Deleting the opening of a question, or the last remaining chunk of the newest answer, always deletes the whole
    exchange. Any other chunk is deleted alone. If the newest answer is deleted, its question is returned.
    """
    with window.working("deleting"):
        apply_external_changes(window)
        stored = window.memory.chunk(key)
        if stored is None or stored.chunk.deleted:
            raise InputError(f"Chunk {key} is not in the memory, or has already been deleted.")
        newest = window.newest
        is_newest_answer = newest is not None and turn_of(key) == TurnKey(newest.turn_assistant, "assistant")
        if is_newest_answer and (exchange or len(chunks_of(window, turn_of(key))) == 1):
            question = text_of(chunks_of(window, TurnKey(key.turn - 1, "user")))
            return Deletion(_delete_exchange(window, key.turn - 1), question)
        if exchange or (key.role == "user" and key.index == ANCHOR):
            return Deletion(_delete_exchange(window, key.turn if key.role == "user" else key.turn - 1))
        delete_chunk(window, key)
        return Deletion((key,))


def undelete(window: Window, keys: Sequence[ChunkKey]) -> None:
    """Undo a deletion. Chunks that lived here return as they were, unless many deletions have followed."""
    with window.working("undeleting"):
        apply_external_changes(window)
        window.memory.undelete(keys, DELETED)
        with window.life.lock:
            back = [chunk for chunk in window.take_dropped(keys) if chunk.key not in window.life.context]
            window.life.add(back)
            window.timeline.note((chunk.key for chunk in back), "undeleted", "Its deletion was undone.")
            window.log.tell(
                "undeleted", keys=[key_to_json(key) for key in keys], chunks=[chunk_to_json(one) for one in back]
            )
        apply_external_changes(window)
        latest = _latest_of(back)
        if latest is not None and (window.newest is None or window.newest.turn_user < latest.turn_user):
            window.set_newest(latest)
        prune_to_budget(window)


def regenerate(window: Window, *, cancellation: Cancellation | None = None) -> Reply:
    """Answer the newest question again; the earlier answer is superseded."""
    with working(window, "answering", cancellation) as cancellation:
        newest = window.newest
        return _ask_again(window, None if newest is None else newest.turn_user, None, cancellation)


def edit_question(window: Window, turn: int, text: str, *, cancellation: Cancellation | None = None) -> Reply:
    """Ask a question in other words; the earlier exchange is superseded."""
    with working(window, "answering", cancellation) as cancellation:
        if not text.strip():
            raise InputError("The message is empty; nothing was changed.")
        return _ask_again(window, turn, text, cancellation)


def edit_reply(window: Window, turn: int, text: str) -> int:
    """Replace the newest reply without asking the model; returns the turn of the new reply.

    Question and reply are both written again, and the earlier exchange is superseded.
    """
    with window.working("being edited"):
        apply_external_changes(window)
        if window.newest is None or window.newest.turn_assistant != turn:
            raise InputError(
                "Only the newest reply can be edited; delete an older reply, or correct it in the conversation."
            )
        return rewrite(window, text)


def _delete_exchange(window: Window, turn: int) -> tuple[ChunkKey, ...]:
    """Delete an exchange; the previous one becomes the newest and can be continued."""
    keys = delete_exchange(window, turn, DELETED)
    if window.newest is None:
        window.set_newest(_latest_of(window.life.context))
        window.save()
    return keys


def _ask_again(window: Window, turn: int | None, text: str | None, cancellation: Cancellation) -> Reply:
    """Ask the question of this turn again, with the new text if there is one, in place of the old exchange."""
    question = [] if turn is None else chunks_of(window, TurnKey(turn, "user"))
    if not question:
        raise InputError(f"The window {window.name} does not have this question; nothing was asked.")
    return ask(window, text or text_of(question), marks_of(question[0]), cancellation, supersedes=turn)


def _latest_of(chunks: Iterable[LiveChunk]) -> Newest | None:
    """The newest of these exchanges, without free positions: other text may have taken those since."""
    own = [chunk for chunk in chunks if not chunk.returned]  # a returned chunk may be from another window
    turn = max((chunk.key.turn for chunk in own if chunk.key.role == "user"), default=None)
    if turn is None:
        return None
    end = max(chunk.end_position for chunk in own if chunk.key.turn in (turn, turn + 1))
    return Newest(turn, turn + 1, end, end)


def _living(window: Window, key: ChunkKey) -> LiveChunk:
    if key not in window.life.context:
        raise InputError(f"Chunk {key} is not in the context of the window {window.name}.")
    return window.life.context[key]
