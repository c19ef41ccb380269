"""One round of a reply: the model reads, writes until it ends or calls a tool, and what it wrote is kept."""

from collections.abc import Callable

import msgspec

from halo_weave.session.turn.replying import Writing, Written, digest
from halo_weave.session.turn.turn_state import Exchange, written_alive
from halo_weave.session.window.chunk_json import described
from halo_weave.session.window.journal import Journal
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import Positions
from halo_weave.weave.brightness_tracker import Shining
from halo_weave.weave.layout import OpenTurn


def write_round(window: Window, exchange: Exchange, journal: Journal, hear: Callable[[str], bool]) -> Written:
    """`hear` is given each piece of text, and ends the round where it says so."""
    newest = window.newest
    assert newest is not None
    immune, left = window.settings.weave.current_turn_immune, exchange.left(window)
    earlier = window.life.context.of_turn(exchange.assistant)
    positions = Positions(window.memory, newest.free_from, newest.free_to)
    opened = OpenTurn(exchange.assistant, earlier[0].turn_start if earlier else positions.at(0), exchange.time)
    window.life.prune(max(1, window.usable_tokens - exchange.reserved(window)))
    layout = window.life.layout(opened)
    shining = Shining(
        window.scorer, layout, current=window.life.current if immune else (), room=left, scores_new=not immune
    )
    window.writing.clear()
    writing = Writing(
        window,
        layout,
        opened,
        positions,
        shining,
        journal,
        exchange.figures,
        exchange.begun_at,
        hear,
        exchange.cancellation,
    )
    if left and len(layout.placed) < window.usable_tokens:
        with journal:
            written = writing.run(msgspec.structs.replace(window.settings.generation, max_tokens=left))
    else:
        written = Written("length")
    with window.life.looking:
        shining.settle()
        window.log.tell("brightness", **digest(shining))
    exchange.problem = shining.last_problem or exchange.problem
    exchange.said.append(written.text)

    ending = {} if written.ending in ("end", "tool") else {"ending": written.ending}
    living = written_alive(window, exchange, written.words, {**exchange.marks, **ending}, earned=shining.new_state())
    with window.life.looking:
        window.life.add(living)
        window.writing.clear()
        kept = [described(chunk) for chunk in living]
        if written.ending == "tool":
            window.log.tell("written", chunks=kept)
        else:
            window.log.tell("reply", chunks=kept, ending=written.ending)
    free_from, free_to = positions.rest(len(written.words))
    window.newest = newest._replace(free_from=free_from, free_to=free_to)
    return written
