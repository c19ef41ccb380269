"""The contract of every store: finding, ranking and counting words; and the outlines that searches use."""

from datetime import datetime, timedelta

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import PART, ChunkKey
from support.made_up_chunks import TIME, text_chunk, written_texts


def test_words_are_found_best_first(store: Store) -> None:
    ids = written_texts(
        store, "the sea and the shore", "the sea the sea the sea", "a hill", "sea and hill and a long tail of words"
    )
    matches = store.search_words(["sea"], 10)
    assert matches[0].id == ids[1]
    assert {match.id for match in matches} == {ids[0], ids[1], ids[3]}
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert store.search_words(["sea"], 2) == matches[:2]
    assert store.search_words(["sea"], 0) == []
    assert store.search_words(["sea", "hill"], 10)[0].id == ids[3]


def test_words_are_found_by_stem_without_accents_and_as_phrases(store: Store) -> None:
    running, greeting, phrase = written_texts(store, "she was running home", "Viele Grüße", "user-friendly pages")
    for term, found in {
        "runs": running,
        "RUNNING": running,
        "grüße": greeting,
        "GRUßE": greeting,
        "user friendly": phrase,
        "user-friendly": phrase,
    }.items():
        assert [match.id for match in store.search_words([term], 10)] == [found], term
    assert store.search_words(["friendly user"], 10) == []


def test_equally_good_matches_are_in_order_of_writing(store: Store) -> None:
    ids = written_texts(store, *["the same words"] * 5)
    assert [match.id for match in store.search_words(["words"], 3)] == ids[:3]


@pytest.mark.parametrize(
    "term",
    ["", "  ", '"', '""', "*", "sea*", "AND", "NOT sea", "NEAR(sea, 2)", "text:sea", "^sea", "(sea", "\0", "sea\0hill"],
)
def test_no_text_is_an_error_in_a_search(store: Store, term: str) -> None:
    written_texts(store, "the sea")
    store.search_words([term], 5)
    for quoted in (term, f"-{term}", f"{{text}}:{term}", f"'; {term}; --", f"\ud83d{term}"):
        assert len(store.search_words([quoted, "sea"], 5)) == 1


@given(st.lists(st.text(max_size=12)))
def test_any_terms_can_be_searched_for(untouched: Store, terms: list[str]) -> None:
    assert untouched.search_words(terms, 5) == []
    assert untouched.count_words(terms) == (0, [0] * len(terms))


def test_very_many_terms_can_be_searched_for(store: Store) -> None:
    (chunk_id,) = written_texts(store, "the sea")
    terms = [f"word{number}" for number in range(3000)]
    assert [match.id for match in store.search_words([*terms, "sea"], 5)] == [chunk_id]


def test_terms_are_counted_by_the_chunks_that_have_them(store: Store) -> None:
    ids = written_texts(store, "the sea at night", "sea, sea and land", "seas", "!!", "nothing")
    assert store.count_words(["sea", "SEAS", "land", "sea at", "none", "!!", ""]) == (5, [3, 3, 1, 1, 0, 0, 0])
    store.delete([store.chunks_by_ids(ids)[0].chunk.key], "test")
    assert store.count_words(["sea", "night"]) == (4, [2, 0])


def test_an_outline_has_what_a_search_must_know(store: Store) -> None:
    store.reserve(100)
    chunk = msgspec.structs.replace(text_chunk(1, "some words", first=7), metadata={"a": [1]})
    (chunk_id,) = store.write_chunks([chunk])
    (gone,) = written_texts(store, "gone")
    store.delete([store.chunks_by_ids([gone])[0].chunk.key], "test")
    found = {outline.id: outline for outline in store.outlines_by_ids([gone, chunk_id, 999], with_metadata=True)}
    assert found.keys() == {gone, chunk_id}
    assert found[chunk_id] == (chunk_id, "user", 7, TIME, False, 1, None, {"a": [1]})
    assert found[gone].deleted
    assert store.outlines_by_ids([chunk_id])[0].metadata is None


def test_an_outline_names_who_speaks_in_its_turn_if_the_turn_says_so(store: Store) -> None:
    store.reserve(100)
    opening, more = text_chunk(1, "Ada: I swim.", first=10), text_chunk(1, "Every day.", first=20, index=1)
    outlines = store.outlines_by_ids(store.write_chunks([opening, more, text_chunk(2, "I do not.", first=30)]))
    assert {outline.first_position: outline.speaker for outline in outlines} == {10: "Ada", 20: "Ada", 30: None}


def test_an_outline_follows_what_becomes_of_the_opening_of_its_turn(store: Store) -> None:
    store.reserve(100)
    (later,) = store.write_chunks([text_chunk(1, "Every day.", first=30, index=2)])

    def speaker() -> str | None:
        return store.outlines_by_ids([later])[0].speaker

    assert speaker() is None
    opening, more = text_chunk(1, "Ada Lovelace", first=10), text_chunk(1, ": I swim.", first=12, index=1)
    store.write_chunks([opening, more])
    assert speaker() is None
    store.merge(opening.key, more.key, "test")
    assert speaker() == "Ada Lovelace"
    store.delete([opening.key], "test")
    assert speaker() == "Ada Lovelace"
    store.forget([opening.key], "test")
    assert speaker() is None


def test_outlines_come_in_order_of_time_from_a_time_on_and_before_another(store: Store) -> None:
    store.reserve(100)
    times = [TIME + timedelta(days=days) for days in (3, 1, 2, 4)]
    ids = store.write_chunks(
        [
            msgspec.structs.replace(text_chunk(1, "word", first=index, index=index), time=time)
            for index, time in enumerate(times)
        ]
    )
    in_time = [ids[1], ids[2], ids[0], ids[3]]

    def between(since: datetime | None, until: datetime | None, most: int = 4) -> list[int] | None:
        found = store.outlines_between(since, until, most)
        return None if found is None else [outline.id for outline in found]

    assert between(None, None) == in_time
    assert between(times[2], times[3]) == in_time[1:3]
    assert between(None, None, most=3) is None
    store.delete([store.chunks_by_ids(ids)[2].chunk.key], "test")
    assert between(None, times[0]) == in_time[:1]


def test_wishes_are_what_users_wish_and_did_not_delete(store: Store) -> None:
    store.reserve(100)
    always, of_me = text_chunk(1, "Always ask", first=10), text_chunk(1, "me. From now", first=12, index=1)
    on = text_chunk(1, " on.", first=15, index=2)
    reply = msgspec.structs.replace(text_chunk(2, "I prefer tea.", first=20), key=ChunkKey(2, 0, "assistant"))
    first, second, *_ = store.write_chunks([always, of_me, on, reply])
    assert store.wishes(9) == [first]
    store.merge(of_me.key, on.key, "test")
    assert store.wishes(9) == [second, first]
    assert store.wishes(1) == [second]
    store.merge(always.key, of_me.key, "test")
    assert store.wishes(9) == [first]
    store.delete([always.key], "test")
    assert store.wishes(9) == []
    store.undelete([always.key], "test")
    assert store.wishes(9) == [first]
    store.delete([always.key], "test")
    store.forget([always.key], "test")
    assert store.wishes(9) == []


def test_orders_in_a_long_turn_are_no_wishes(store: Store) -> None:
    store.reserve(100)
    said = [text_chunk(1, "Always ask.", first=10 + 2 * index, index=index) for index in range(9)]
    ids = store.write_chunks(said[:8])
    assert store.wishes(9) == ids[::-1]
    store.write_chunks(said[8:])
    assert store.wishes(9) == []


def test_words_may_be_looked_for_among_some_chunks_only(store: Store) -> None:
    ids = written_texts(store, "sea", "sea sea", "light", "the sea light")
    everywhere = store.search_words(["sea"], 9)
    among = store.search_words(["sea"], 9, among=[ids[0], ids[2], ids[3], 999])
    assert among == [match for match in everywhere if match.id != ids[1]]
    assert store.search_words(["sea"], 1, among=ids[2:]) == [match for match in among if match.id == ids[3]]
    assert store.search_words(["sea"], 9, among=[]) == []


def test_places_tell_how_often_terms_stand_in_chunks_and_how_far_they_are_spread(store: Store) -> None:
    ids = written_texts(store, "the sea, the SEA", "a hill by the sea", "hills", *["nothing"] * PART, "sea")
    terms = ["sea", "hill", "sea hill", "none", "…"]
    places = store.word_places(terms, np.array([0, *ids[:3], 999]))
    assert places.frequencies.tolist() == [[0, 2, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 0, 0], [0] * 5, [0] * 5]
    assert (places.having.tolist(), places.parts) == ([2, 1, 1, 0, 0], 2)
    assert store.word_places([], np.array(ids)).frequencies.shape == (0, len(ids))
    store.delete([store.chunks_by_ids(ids[:1])[0].chunk.key], "test")
    assert store.word_places(["sea"], np.array(ids[:3])).frequencies.tolist() == [[0, 1, 0]]
