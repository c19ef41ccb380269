"""Search over a real memory: by meaning with the bundled embedder, by words, and rules proved with a made-up one."""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halo_weave.errors import InputError
from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.memory.search.search import CANDIDATES, Hit, MemorySearch
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.memory.vectors.unit import Vectors, normalised
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

START = datetime(2026, 1, 1, tzinfo=UTC)
ALIKE = SearchSettings(user_boost=1.0, wish_boost=1.0)


class LetterEmbedder:
    """Texts with the same letters are close, which is enough to know what must come first."""

    name = "letters"
    dimensions = 26
    max_tokens = 1000

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = [[1e-3 + text.casefold().count(chr(ord("a") + place)) for place in range(26)] for text in texts]
        return normalised(np.array(counts), "letters")

    def count_tokens(self, text: str) -> int:
        return len(text)

    def close(self) -> None:
        pass


class Talk:
    """A memory to which a test adds texts, and its search."""

    def __init__(
        self, path: Path, embedder: Embedder, settings: SearchSettings | None = None, candidates: int = CANDIDATES
    ) -> None:
        self.store = SqliteStore(path)
        self.embedder = embedder
        self.index = VectorIndex(self.store, embedder.name, embedder.dimensions)
        self.memory = MemorySearch(self.store, embedder, self.index, settings, candidates=candidates)

    def say(
        self,
        text: str,
        role: Role = "user",
        *,
        day: int = 0,
        metadata: dict[str, Any] | None = None,
        embed: bool = True,
    ) -> ChunkKey:
        reservation = self.store.reserve(1)
        chunk = Chunk.of_tokens(
            ChunkKey(reservation.turn_user, 0, role),
            [Token(1, text)],
            first_position=reservation.position_start,
            time=START + timedelta(days=day),
            metadata=metadata,
        )
        (chunk_id,) = self.store.write_chunks([chunk])
        if embed:
            self.store.put_vectors(self.embedder.name, {chunk_id: self.embedder.embed([text])[0]})
        return chunk.key

    def say_nothing_alike(self) -> None:
        """Add enough turns to keep earlier ones out of the neighbourhood of the next."""
        for _ in range(4):
            self.say("zzz")

    def find(self, text: str, **wanted: Any) -> list[str]:
        return [hit.chunk.text for hit in self.hits(text, **wanted)]

    def hits(self, text: str, **wanted: Any) -> list[Hit]:
        return self.memory.search(text, **wanted)


Talks = Callable[..., Talk]


@pytest.fixture
def open_talk(tmp_path: Path) -> Iterator[Talks]:
    opened: list[Talk] = []

    def open_one(
        embedder: Embedder | None = None, settings: SearchSettings | None = ALIKE, candidates: int = CANDIDATES
    ) -> Talk:
        opened.append(Talk(tmp_path / "halo.db", embedder or LetterEmbedder(), settings, candidates))
        return opened[-1]

    yield open_one
    for talk in opened:
        talk.index.close()
        talk.store.close()


@pytest.fixture(scope="module")
def minilm() -> Iterator[Embedder]:
    embedder = open_embedder(EmbedderSettings())
    yield embedder
    embedder.close()


def test_meaning_finds_what_words_cannot(open_talk: Talks, minilm: Embedder) -> None:
    talk = open_talk(minilm)
    for text in (
        "We adopted a kitten from the shelter last week.",
        "The invoice for the roof repair came to 4,200 euros.",
        "Meine Großmutter backt jeden Sonntag einen Apfelkuchen.",
        "El tren a Sevilla sale a las siete de la mañana.",
        "私は東京で建築を勉強しています。",
    ):
        talk.say(text)
    assert talk.find("Do we have any pets?")[0].startswith("We adopted a kitten")
    assert talk.find("How much did fixing the house cost?")[0].startswith("The invoice")
    assert talk.find("Apfelkuchen am Sonntag")[0].startswith("Meine Großmutter")
    assert talk.find("¿A qué hora sale el tren?")[0].startswith("El tren")
    assert talk.find("東京で勉強")[0].startswith("私は東京")


def test_words_find_what_meaning_cannot(open_talk: Talks, minilm: Embedder) -> None:
    talk = open_talk(minilm)
    for number in range(30):
        talk.say(f"The code of locker {number} is KX{number * 37 % 101:03}.")
    hit = talk.hits("Who has KX084?", limit=1)[0]
    assert "KX084" in hit.chunk.text
    assert hit.word_rank == 1


def test_a_hit_says_why(open_talk: Talks) -> None:
    talk = open_talk()
    for text in ("owl owl", "low wool"):
        talk.say(text)
        talk.say_nothing_alike()
    talk.say("an owl", embed=False)
    first, *_ = hits = talk.hits("owl")
    both, meaning, unembedded = (
        {hit.chunk.text: hit for hit in hits}[text] for text in ("owl owl", "low wool", "an owl")
    )
    assert first == both
    assert (both.chunk.text, both.vector_rank, both.word_rank) == ("owl owl", 1, 1)
    assert both.similarity == pytest.approx(1, abs=1e-4)
    assert both.word_score is not None
    assert both.score > meaning.score > 0
    assert (unembedded.chunk.text, unembedded.similarity, unembedded.vector_rank) == ("an owl", None, None)
    assert unembedded.word_rank == 2
    assert (meaning.chunk.text, meaning.word_rank, meaning.word_score) == ("low wool", None, None)
    assert meaning.similarity is not None


def test_a_user_is_preferred_by_the_boost(open_talk: Talks) -> None:
    for settings, first in ((ALIKE, "assistant"), (SearchSettings(), "user")):
        talk = open_talk(settings=settings)
        if settings is ALIKE:
            talk.say("owl owls", "assistant")
            talk.say("owl owls", "user")
        assert talk.hits("owl owls")[0].chunk.key.role == first


def test_equal_chunks_stand_in_order_of_position(open_talk: Talks) -> None:
    talk = open_talk()
    keys = []
    for _ in range(4):
        keys.append(talk.say("the same words"))
        talk.say_nothing_alike()
    first = talk.hits("same words")
    assert [hit.chunk.key for hit in first][: len(keys)] == keys
    assert talk.hits("same words") == first


def test_filters_by_role_time_and_metadata(open_talk: Talks) -> None:
    talk = open_talk()
    talk.say("owl one", "user", day=0, metadata={"window": "w1", "tags": ["birds", "night"]})
    talk.say("owl two", "assistant", day=1, metadata={"window": "w1"})
    talk.say("owl three", "system", day=2, metadata={"window": "w2", "tags": ["birds"], "deep": {"a": 1, "b": 2}})
    talk.say("owl four", "user", day=3)

    def find(**wanted: Any) -> set[str]:
        return {text.removeprefix("owl ") for text in talk.find("owl", **wanted)}

    assert find() == {"one", "two", "three", "four"}
    assert find(roles=["user"]) == {"one", "four"}
    assert find(roles=["assistant", "system"]) == {"two", "three"}
    assert find(roles=[]) == set()
    assert find(since=START + timedelta(days=1)) == {"two", "three", "four"}
    assert find(until=START + timedelta(days=1)) == {"one"}
    assert find(since=START + timedelta(days=1), until=START + timedelta(days=3)) == {"two", "three"}
    assert find(metadata={"window": "w1"}) == {"one", "two"}
    assert find(metadata={"tags": ["birds"]}) == {"one", "three"}
    assert find(metadata={"tags": ["night", "birds"]}) == {"one"}
    assert find(metadata={"deep": {"b": 2}}) == {"three"}
    assert find(metadata={"window": "w1"}, roles=["assistant"]) == {"two"}
    assert find(metadata={"unknown": None}) == set()


def test_a_time_in_which_little_was_said_is_searched_like_any_other(
    open_talk: Talks, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = open_talk(settings=SearchSettings(), candidates=10)
    for number in range(40):
        talk.say(f"owl {'owl ' * (number % 5)}{number}", "user" if number % 3 else "assistant", day=number % 10)
    wanted = {"since": START + timedelta(days=2), "until": START + timedelta(days=5), "roles": ["user"]}
    found = [talk.hits("owl", limit=limit, **wanted) for limit in (1, 4, 30)]
    monkeypatch.setattr("halo_weave.memory.search.candidates._FEW", 0)
    assert [talk.hits("owl", limit=limit, **wanted) for limit in (1, 4, 30)] == found


def test_filters_do_not_empty_the_result(open_talk: Talks) -> None:
    talk = open_talk(settings=SearchSettings(), candidates=10)
    rare = [talk.say(f"a bird {number}", "system") for number in range(3)]
    for _ in range(150):
        talk.say("owl owl owl", "assistant")
    assert {hit.chunk.key for hit in talk.hits("owl", limit=5, roles=["system"])} == set(rare)


def test_deleted_never_appears(open_talk: Talks) -> None:
    talk = open_talk()
    keys = [talk.say(f"owl number {number}") for number in range(6)]
    talk.store.delete(keys[:3], "test")
    assert {hit.chunk.key for hit in talk.hits("owl number")} == set(keys[3:])
    talk.store.undelete(keys[:1], "test")
    assert {hit.chunk.key for hit in talk.hits("owl number")} == {keys[0], *keys[3:]}


def test_new_chunks_are_found_at_once_whoever_wrote_them(open_talk: Talks) -> None:
    here, elsewhere = open_talk(), open_talk()
    assert here.find("owl") == []
    elsewhere.say("an owl")
    assert here.find("owl") == ["an owl"]
    here.say("two owls")
    assert elsewhere.find("owls two", limit=1) == ["two owls"]


def test_diversity_brings_others_forward(open_talk: Talks) -> None:
    talk = open_talk()
    for text in ("owl at night", "owl at night", "owl at night", "owl by day", "rain"):
        talk.say(text)
    assert talk.find("owl at night", limit=2) == ["owl at night", "owl at night"]
    assert talk.find("owl at night", limit=2, mmr_lambda=1.0) == ["owl at night", "owl at night"]
    assert len(set(talk.find("owl at night", limit=2, mmr_lambda=0.3))) == 2
    assert sorted(talk.find("owl at night", mmr_lambda=0.3)) == sorted(talk.find("owl at night"))


def test_the_limit_is_kept_and_reached(open_talk: Talks) -> None:
    talk = open_talk(settings=SearchSettings(), candidates=10)
    for number in range(40):
        talk.say(f"owl {number}")
    for limit in (1, 7, 25, 40):
        assert len(talk.find("owl", limit=limit)) == limit
    assert len(talk.find("owl", limit=99)) == 40


@pytest.mark.parametrize("text", ["", " \n", "🎉", "?!", '"owl" AND (', "owl\0", "NEAR(owl, 2)", "half \ud83d"])
def test_any_text_may_be_searched_for(open_talk: Talks, text: str) -> None:
    talk = open_talk()
    talk.say("an owl")
    assert len(talk.find(text)) == (1 if text.strip() else 0)


def test_what_cannot_be_done_is_refused(open_talk: Talks) -> None:
    talk = open_talk()
    with pytest.raises(InputError, match="at least 1"):
        talk.find("owl", limit=0)
    with pytest.raises(InputError, match="from 0 to 1"):
        talk.find("owl", mmr_lambda=1.5)
    with pytest.raises(InputError, match="no time zone"):
        talk.find("owl", since=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(InputError, match="vectors by other"):
        MemorySearch(talk.store, talk.embedder, VectorIndex(talk.store, "other", 26))


def test_words_that_many_chunks_have_are_not_looked_for(open_talk: Talks) -> None:
    talk = open_talk()
    for _ in range(60):
        talk.say("the rain", embed=False)
    talk.say("the owl", embed=False)
    first, *beside = talk.hits("The owl of Minerva")
    assert (first.chunk.text, first.word_rank) == ("the owl", 1)
    assert [hit.word_rank for hit in beside] == [None]
    assert len(talk.find("the Minerva", limit=99)) == 61


def test_a_word_that_was_unknown_is_found_once_it_is_said(open_talk: Talks) -> None:
    talk = open_talk()
    for number in range(40):
        talk.say(f"rain {number}", embed=False)
    assert talk.find("Minerva rain 7", limit=1) == ["rain 7"]
    talk.say("Minerva", embed=False)
    assert "Minerva" in talk.find("Minerva rain 7", limit=2)


def test_what_was_said_at_a_named_time_comes_first_though_nothing_else_tells_it_apart(open_talk: Talks) -> None:
    talk = open_talk(settings=ALIKE)
    for day in range(0, 90, 3):
        talk.say("we spoke of owls", day=day)
    found = [hit.chunk.time for hit in talk.hits("what about owls on 1 March 2026?", limit=3)]
    assert all(time >= datetime(2026, 3, 1, tzinfo=UTC) for time in found)


def test_what_was_said_at_a_named_time_is_looked_at_though_neither_words_nor_meaning_find_it(open_talk: Talks) -> None:
    talk = open_talk(settings=SearchSettings(user_boost=1.0), candidates=10)
    talk.say("a quizzical owl", day=59)
    for number in range(200):
        talk.say(f"owl {chr(ord('a') + number % 26) * (number % 5)}", day=1)
    assert "a quizzical owl" in talk.find("owl 2026-03-01", limit=50)
    assert "a quizzical owl" not in talk.find("owl", limit=50)


def test_a_filter_holds_for_what_was_said_at_a_named_time(open_talk: Talks) -> None:
    talk = open_talk()
    talk.say("owl", "user", day=59)
    talk.say("owl", "assistant", day=59)
    assert [hit.chunk.key.role for hit in talk.hits("owl on 2026-03-01", roles=["assistant"])] == ["assistant"]


def test_who_is_named_in_the_question_is_found_speaking_before_being_spoken_of(open_talk: Talks) -> None:
    talk = open_talk(settings=ALIKE)
    for _ in range(3):
        talk.say("Eve: Ada swims")
        talk.say_nothing_alike()
        talk.say("Ada: Eve swims")
        talk.say_nothing_alike()
    assert {text.split(":")[0] for text in talk.find("does Ada swim?", limit=3)} == {"Ada"}
    assert {text.split(":")[0] for text in talk.find("does Eve swim?", limit=3)} == {"Eve"}


def test_a_close_wish_is_looked_at_though_neither_words_nor_meaning_find_it(open_talk: Talks) -> None:
    talk, wish = open_talk(settings=SearchSettings(user_boost=1.0), candidates=10), "Never wake a quizzical owl"
    talk.say(wish)
    for _ in range(60):
        talk.say("zzz")
        talk.say("owl")
    assert [hit.chunk.text for hit in talk.hits("owl", limit=25) if hit.is_wish] == [wish]
    alike = MemorySearch(talk.store, talk.embedder, talk.index, ALIKE, candidates=10)
    assert wish not in [hit.chunk.text for hit in alike.search("owl", limit=25)]


def test_only_the_closest_wishes_count_as_such(open_talk: Talks) -> None:
    talk = open_talk(settings=SearchSettings(user_boost=1.0))
    wishes = [f"always feed the owl{' zebra' * number}" for number in range(6)]
    for wish in wishes:
        talk.say(wish)
        talk.say_nothing_alike()
    boosted = {hit.chunk.text: hit.score for hit in talk.hits("owl")}
    alike = MemorySearch(talk.store, talk.embedder, talk.index, ALIKE)
    plain = {hit.chunk.text: hit.score for hit in alike.search("owl")}
    gains = [boosted[wish] - plain[wish] for wish in wishes]
    assert gains == pytest.approx([gains[-1] + math.log(4.5)] * 4 + [gains[-1]] * 2)


def test_a_filter_holds_for_wishes(open_talk: Talks) -> None:
    talk = open_talk(settings=SearchSettings())
    talk.say("always feed the owl", day=1)
    talk.say("the owl is fed", "assistant", day=2)
    assert talk.find("owl", roles=["assistant"]) == ["the owl is fed"]
    assert talk.find("owl", since=START + timedelta(days=2)) == ["the owl is fed"]
