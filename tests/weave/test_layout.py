"""The layout of living chunks as the tokens that the model sees."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Placed
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.weave.context import Context, LiveChunk
from halo_weave.weave.framing import ChatFrames
from halo_weave.weave.layout import Layout, OpenTurn, lay_out, size_of
from halo_weave.weave.living import TurnKey
from support.live_chunks import BEGIN, conversations, in_order, live_chunk
from support.windows import is_ascending

GAP = timedelta(hours=168)
OPEN, CLOSE, DATE = 1, 2, 3


class Frames:
    """A turn has two opening tokens and one closing token; a date adds one more."""

    beginning: Sequence[Token] = (Token(0, "start"), Token(9, "system"))

    def opening(self, role: Role, time: datetime, *, follows_gap: bool) -> Sequence[Token]:
        return [Token(OPEN, f"{time}"), Token(OPEN, role), *([Token(DATE, "")] if follows_gap else [])]

    def closing(self, role: Role, time: datetime, *, follows_gap: bool = False) -> Sequence[Token]:
        return [Token(CLOSE, f"{role} {time} {follows_gap}")]


def laid_out(chunks: list[LiveChunk], opened: OpenTurn | None = None) -> Layout:
    return lay_out(in_order(chunks), Frames(), gap=GAP, opened=opened)


def places(layout: Layout) -> dict[int, list[Placed]]:
    return {id(span.chunk): layout.placed[span.start : span.end] for span in layout.spans}


def ids(layout: Layout) -> list[int]:
    return [placed.token_id for placed in layout.placed]


@given(conversations(), st.data())
def test_places_are_unique_and_ascending_whatever_lives(chunks: list[LiveChunk], data: st.DataObject) -> None:
    living = [chunk for chunk in chunks if data.draw(st.booleans())]
    assert is_ascending(laid_out(living).placed)


@given(conversations(), st.data())
def test_what_stays_keeps_its_place_whatever_else_lives(chunks: list[LiveChunk], data: st.DataObject) -> None:
    chunks = [chunk for chunk in chunks if not chunk.is_foreign]
    all_places = places(laid_out(chunks))
    some = places(laid_out([chunk for chunk in chunks if data.draw(st.booleans())]))
    assert some.items() <= all_places.items()


@given(st.integers(0, 2**70), st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_places_do_not_depend_on_how_a_turn_is_cut(first: int, counts: list[int]) -> None:
    whole = live_chunk(5, 0, first=first, count=sum(counts))
    pieces, position = [], first
    for index, count in enumerate(counts):
        piece = live_chunk(5, index, first=position, count=count, turn_start=first)
        piece.tokens = whole.tokens[position - first : position - first + count]
        pieces.append(piece)
        position += count
    assert laid_out([whole]).placed == laid_out(pieces).placed


@given(conversations(), st.data())
def test_each_turn_is_framed_once_and_chunks_stand_between_their_frames(
    chunks: list[LiveChunk], data: st.DataObject
) -> None:
    living = [chunk for chunk in chunks if data.draw(st.booleans())]
    layout = laid_out(living)
    turns = {chunk.turn for chunk in living}
    assert ids(layout).count(OPEN) == 2 * len(turns)
    assert ids(layout).count(CLOSE) == len(turns)
    for chunk, start, end in layout.spans:
        assert ids(layout)[start:end] == [token.id for token in chunk.tokens]
    assert [span.chunk for span in layout.spans] == in_order(living)


@given(conversations(), st.data())
def test_the_size_is_that_of_the_layout(chunks: list[LiveChunk], data: st.DataObject) -> None:
    living = in_order([chunk for chunk in chunks if data.draw(st.booleans())])
    assert size_of(living, Frames(), gap=GAP) == len(lay_out(living, Frames(), gap=GAP).placed)


@given(conversations(), st.data())
def test_the_open_turn_stands_last_and_what_comes_later_is_left_out(
    chunks: list[LiveChunk], data: st.DataObject
) -> None:
    last = data.draw(st.sampled_from(chunks))
    opened = OpenTurn(last.turn, last.turn_start, last.time)
    living = [chunk for chunk in chunks if data.draw(st.booleans())]
    layout = laid_out(living, opened)
    assert all(span.chunk.turn_start <= opened.turn_start for span in layout.spans)
    after = [Placed(layout.place_of(opened, max(c.end_position for c in chunks) + step), 7) for step in range(3)]
    assert is_ascending([*layout.placed, *after])
    assert layout.placed[-1].token_id != CLOSE


def test_a_new_turn_opens_behind_all_that_was_said_before() -> None:
    opened = OpenTurn(TurnKey(4, "assistant"), 50, BEGIN)
    layout = laid_out([live_chunk(3, 0, first=40)], opened)
    assert ids(layout)[-3:] == [CLOSE, OPEN, OPEN]
    assert layout.place_of(opened, 50) == layout.placed[-1].position + 1


def test_words_of_the_open_turn_stand_where_they_will_stand_as_a_chunk() -> None:
    question, answer = live_chunk(3, 0, first=40), live_chunk(4, 0, "assistant", first=50)
    opened = OpenTurn(TurnKey(4, "assistant"), 50, BEGIN)
    written = [laid_out([question], opened).place_of(opened, position) for position in range(50, 53)]
    layout = laid_out([question, answer])
    assert [layout.placed[place].position for place in range(*layout.spans[1][1:])] == written


def test_a_date_stands_where_the_gap_to_what_stands_before_is_large() -> None:
    times = [BEGIN, BEGIN + GAP - timedelta(seconds=1), BEGIN + 2 * GAP, BEGIN + 3 * GAP]
    chunks = [live_chunk(turn, 0, first=10 * turn, time=time) for turn, time in enumerate(times, 1)]
    dated = [token == DATE for token in ids(laid_out(chunks)) if token in (CLOSE, DATE)]
    assert dated == [False, False, True, False, True, False]
    without_neighbour = laid_out([chunks[0], chunks[3]])
    assert ids(without_neighbour).count(DATE) == 1
    assert DATE not in ids(lay_out(chunks, Frames(), gap=None))


def test_what_was_said_by_a_later_clock_before_is_a_gap_too() -> None:
    chunks = [live_chunk(1, 0, first=0, time=BEGIN + 2 * GAP), live_chunk(2, 0, "assistant", first=9)]
    assert ids(laid_out(chunks)).count(DATE) == 1


def test_frames_and_current_turns_are_not_scored() -> None:
    layout = laid_out([live_chunk(1, 0, first=0), live_chunk(2, 0, "assistant", first=10)])
    scored = layout.scored([TurnKey(1, "user")])
    assert np.flatnonzero(scored).tolist() == list(range(*layout.spans[1][1:]))


def test_a_chunk_lives_once_and_turns_stay_together() -> None:
    context = Context([live_chunk(1, 0, first=0), live_chunk(3, 0, first=20)])
    context.add(live_chunk(1, 1, first=40, turn_start=0))
    assert [(chunk.key.turn, chunk.key.index) for chunk in context] == [(1, 0), (1, 1), (3, 0)]
    with pytest.raises(ValueError, match="is already in context"):
        context.add(live_chunk(3, 0, first=20))
    assert context.remove(live_chunk(1, 1, first=40).key).first_position == 40
    assert len(context) == 2


def test_the_model_sees_when_a_user_spoke_and_dates_at_gaps() -> None:
    engine = EchoEngine()
    time = datetime(2026, 3, 4, 5, 6, tzinfo=BEGIN.tzinfo)

    def text(frames: ChatFrames, role: Role, *, follows_gap: bool) -> str:
        return "".join(token.text for token in frames.opening(role, time, follows_gap=follows_gap))

    def closing(frames: ChatFrames, role: Role, *, follows_gap: bool = False) -> str:
        return "".join(token.text for token in frames.closing(role, time, follows_gap=follows_gap))

    timed = ChatFrames(engine, "Be kind.", shows_times=True, zone=BEGIN.tzinfo)
    plain = ChatFrames(engine, "", shows_times=False, zone=BEGIN.tzinfo)
    assert text(timed, "user", follows_gap=True) == "<|im_start|>user\n"
    assert closing(timed, "user") == "\n(4 Mar 2026, 05:06)<|im_end|>\n"
    assert closing(timed, "assistant") == closing(plain, "user") == "<|im_end|>\n"
    assert text(timed, "assistant", follows_gap=False) == "<|im_start|>assistant\n"
    assert text(timed, "assistant", follows_gap=True) == "<|im_start|>assistant\n[4 Mar 2026] "
    assert text(plain, "user", follows_gap=False) == "<|im_start|>user\n"
    assert text(plain, "user", follows_gap=True) == "<|im_start|>user\n"
    assert closing(plain, "user", follows_gap=True) == "\n(4 Mar 2026)<|im_end|>\n"
    assert "".join(token.text for token in timed.beginning) == "<|im_start|>system\nBe kind.<|im_end|>\n"
    assert list(plain.beginning) == []
