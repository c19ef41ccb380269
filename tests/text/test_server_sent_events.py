import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import EngineProtocolError
from halo_weave.text import server_sent_events
from halo_weave.text.server_sent_events import HEARTBEAT, EventParser, all_events, frame_event

line_ends = st.sampled_from(["\n", "\r\n", "\r"])
cut_places = st.lists(st.integers(min_value=0, max_value=200), max_size=20)


def parse(*received: bytes) -> list[bytes]:
    return list(all_events(received))


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted([0, len(stream), *(place for place in places if place < len(stream))])
    return [stream[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_each_of_the_three_line_ends_is_understood(ending: str) -> None:
    stream = ending.join(["event: token", "data: one", "", "data: two", "", ""])
    assert parse(stream.encode()) == [b"one", b"two"]


def test_several_lines_of_data_are_joined_and_only_one_space_is_dropped() -> None:
    assert parse(b"data:first\ndata:  second\ndata\n\n") == [b"first\n second\n"]


def test_comments_names_ids_retry_times_and_unknown_fields_are_ignored() -> None:
    assert parse(b": ping\nevent: token\nid: 7\nretry: 100\nnonsense: 1\ndata: x\n\n: ping\n\n") == [b"x"]


def test_an_event_without_data_is_none() -> None:
    assert parse(b"event: ping\n\ndata: x\n\n") == [b"x"]


def test_an_event_is_given_as_soon_as_its_empty_line_is_there() -> None:
    parser = EventParser()
    assert parser.push(b"data: x\r\n\r") == [b"x"]
    assert parser.push(b"") == []
    assert parser.push(b"\ndata: y\r\n\r\n") == [b"y"]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r", b"\r\n"])
def test_what_stands_unfinished_at_the_end_is_still_given(ending: bytes) -> None:
    assert parse(b"data: x\n\ndata: [DO", b"NE]" + ending) == [b"x", b"[DONE]"]


def test_a_byte_order_mark_at_the_beginning_is_dropped() -> None:
    assert parse(b"\xef\xbb", b"\xbfdata: x\n\n") == [b"x"]


@pytest.mark.parametrize("rest", [b"data: {", b"data: {}\n", b"event: message\ndata: 1\n", b"da", b"data: 1\r"])
def test_half_an_event_at_the_end_is_noticed(rest: bytes) -> None:
    parser = EventParser()
    assert parser.push(frame_event(b"1") + rest) == [b"1"]
    assert parser.is_inside_event


def test_an_event_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sent_events, "LARGEST_EVENT_BYTES", 100)
    assert parse(*[b"data: " + b"x" * 60 + b"\n\n"] * 3) == [b"x" * 60] * 3
    for large in ([b"data: ", *[b"x" * 60] * 2], [b"data: " + b"x" * 60 + b"\n"] * 2):
        with pytest.raises(EngineProtocolError, match="larger than 100 bytes"):
            parse(*large)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=8), max_size=6), line_ends, cut_places)
def test_what_is_framed_is_found_again_however_its_bytes_are_split(
    texts: list[str], ending: str, places: list[int]
) -> None:
    sent = [json.dumps({"token": text}, ensure_ascii=False).encode() for text in texts]
    stream = (HEARTBEAT + b"".join(map(frame_event, sent))).replace(b"\n", ending.encode())
    parser = EventParser()
    assert [event for piece in cut(stream, places) for event in parser.push(piece)] == sent
    assert not parser.is_inside_event


lines = st.sampled_from(["data: a", "data:é日🎉", "data", "event: token", ": comment", "", "", "id: 3"])


@given(st.lists(st.tuples(lines, line_ends), max_size=12), cut_places)
def test_the_events_do_not_depend_on_where_the_stream_is_cut(written: list[tuple[str, str]], places: list[int]) -> None:
    stream = "".join(line + ending for line, ending in written).encode()
    assert parse(*cut(stream, places)) == parse(stream)
    assert parse(*(bytes([byte]) for byte in stream)) == parse(stream)
