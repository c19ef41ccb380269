"""An exchange written anew, with the reply in a person's words. The model is not asked.

The new exchange is durable before the earlier one is superseded. A crash in between is brought to its end when the
window is opened: the journal knows which exchange takes the place of which.
"""

from collections.abc import Mapping
from datetime import datetime

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk
from halo_weave.session.turn.capacity import prune_to_budget, require_room_for_both, tokens_of
from halo_weave.session.turn.turn import FOR_FRAMES, FOR_SAFETY
from halo_weave.session.window.chunk_json import described
from halo_weave.session.window.deleting import SUPERSEDED, chunks_of, delete_exchange, text_of
from halo_weave.session.window.journal import Journal
from halo_weave.session.window.reviving import marks_of, metadata_of
from halo_weave.session.window.window import Newest, Window
from halo_weave.session.window.words import Positions, Word, cut, placed
from halo_weave.weave.living import TurnKey

EDITED = "edited"
"""The entry of a chunk's metadata that marks a reply in a person's words."""


def rewrite(window: Window, reply: str) -> int:
    """Put these words in the place of the newest reply; gives the turn of it from now on."""
    before = window.newest
    question, answer = ([], []) if before is None else (chunks_of(window, turn) for turn in _turns(before))
    if before is None or not question or not answer:
        raise InputError(f"The window {window.name} has no reply to edit.")
    tokens = tokens_of(window, reply, name="reply", done="changed")
    if reply == text_of(answer):
        return before.turn_assistant
    asked, time = window.engine.tokenize(text_of(question)), question[0].time
    require_room_for_both(window, asked, tokens, time)

    room_to_go_on = window.settings.generation.max_tokens + FOR_FRAMES + FOR_SAFETY
    reservation = window.memory.reserve(len(asked) + len(tokens) + room_to_go_on)
    positions = Positions(window.memory, reservation.position_start, reservation.position_end)
    newest = Newest(reservation.turn_user, reservation.turn_assistant, *positions.rest(len(asked) + len(tokens)))
    journal = window.journal = Journal(window.memory.store, window.id, newest.turn_assistant)
    journal.begin(newest.turn_user, time, {}, supersedes=before.turn_user)
    words, (user, assistant) = placed([*asked, *tokens], positions), _turns(newest)
    noted = {name: value for name, value in marks_of(answer[0]).items() if name != "ending"}
    chunks = [
        *_cut(window, user, words[: len(asked)], time, marks_of(question[0])),
        *_cut(window, assistant, words[len(asked) :], time, {**noted, EDITED: True}),
    ]
    window.unembedded += window.memory.write(chunks)
    _let_live(window, chunks, before, newest)
    journal.clear()
    window.journal = None
    window.memory.embed_later(window.take_unembedded())
    return newest.turn_assistant


def _let_live(window: Window, chunks: list[Chunk], before: Newest, newest: Newest) -> None:
    """These in the place of the exchange before. What was pinned there is pinned here if its words are the same."""
    pinned = {chunk.text for chunk in window.life.context if chunk.is_pinned and chunk.turn in before.turns}
    delete_exchange(window, before.turn_user, SUPERSEDED)
    with window.life.looking:
        living = [window.life.reviver.fresh(chunk, chunk.tokens()) for chunk in chunks]
        for chunk in living:
            chunk.is_pinned = chunk.text in pinned
        window.life.add(living)
        window.newest, window.life.current = newest, newest.turns
        window.log.tell("edited", chunks=[described(chunk) for chunk in living])
    window.life.prune(window.usable_tokens)
    prune_to_budget(window)


def _turns(exchange: Newest) -> tuple[TurnKey, TurnKey]:
    return TurnKey(exchange.turn_user, "user"), TurnKey(exchange.turn_assistant, "assistant")


def _cut(window: Window, turn: TurnKey, words: list[Word], time: datetime, marks: Mapping[str, object]) -> list[Chunk]:
    metadata = metadata_of(window.id, window.engine.facts.name, marks)
    return cut(words, turn, first_index=0, time=time, metadata=metadata, sizes=window.sizes)
