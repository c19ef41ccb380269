"""The text that is embedded for a chunk: worked examples, and properties of every text and limit."""

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.memory.embedding.text import embedding_text, partner, to_embed_again
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role

QUESTION = "How does brightness scoring work?"
ANSWER = "Brightness scoring uses magnitude voting..."
LATER = "Scores are capped at 10000..."
SPECIAL_TOKENS = 2


def count_words(text: str) -> int:
    return len(text.split()) + SPECIAL_TOKENS


def count_bytes(text: str) -> int:
    return len(text.encode()) + SPECIAL_TOKENS


def count_like_subwords(text: str) -> int:
    """Long words have several tokens and signs one each, as uneven as in real vocabularies."""
    return sum(-(-len(word) // 4) for word in re.findall(r"\w+|[^\w\s]", text)) + SPECIAL_TOKENS


class Counter:
    def __init__(self, count: Callable[[str], int]) -> None:
        self.calls = 0
        self._count = count

    def __call__(self, text: str) -> int:
        self.calls += 1
        return self._count(text)


def text_for(
    target: str,
    role: Role,
    own: str | None = None,
    other: str | None = None,
    *,
    limit: int = 256,
    count: Callable[[str], int] = count_words,
) -> str:
    return embedding_text(target, role=role, own_anchor=own, other_anchor=other, count_tokens=count, limit=limit)


def words(name: str, count: int) -> str:
    return " ".join(f"{name}{index}" for index in range(count))


@pytest.fixture(scope="module")
def minilm() -> Iterator[Embedder]:
    embedder = open_embedder(EmbedderSettings())
    yield embedder
    embedder.close()


def test_a_chunk_of_an_answer_follows_the_question_and_the_answers_opening() -> None:
    assert text_for(LATER, "assistant", own=ANSWER, other=QUESTION) == f"{QUESTION}\n{ANSWER}\n{LATER}"


def test_an_answers_opening_follows_its_question_and_is_there_once() -> None:
    assert text_for(ANSWER, "assistant", other=QUESTION) == f"{QUESTION}\n{ANSWER}"


def test_a_chunk_of_a_question_stands_between_the_questions_and_the_answers_openings() -> None:
    assert text_for("And when?", "user", own=QUESTION, other=ANSWER) == f"{QUESTION}\nAnd when?\n{ANSWER}"


def test_a_questions_opening_is_followed_by_its_answers_and_is_there_once() -> None:
    assert text_for(QUESTION, "user", other=ANSWER) == f"{QUESTION}\n{ANSWER}"


def test_a_question_without_an_answer_and_an_answer_without_a_question_do_without() -> None:
    assert text_for(QUESTION, "user") == QUESTION
    assert text_for("And when?", "user", own=QUESTION) == f"{QUESTION}\nAnd when?"
    assert text_for(LATER, "assistant", own=ANSWER) == f"{ANSWER}\n{LATER}"


def test_a_system_chunk_stands_alone() -> None:
    assert text_for("Be kind.", "system", own="You are.", other=QUESTION) == "Be kind."


def test_white_space_around_the_parts_is_dropped_and_inside_is_kept() -> None:
    assert text_for("\n a  b\n\nc\n\n", "user", own=" \n", other="d\n") == "a  b\n\nc\nd"
    assert text_for(" \n", "assistant", own="", other="d") == "d"
    assert text_for("", "user") == ""


def test_the_own_turns_anchor_is_shortened_first() -> None:
    found = text_for(words("t", 20), "assistant", own=words("a", 20), other=words("q", 20), limit=52)
    assert found == f"{words('q', 20)}\n{words('a', 10)}\n{words('t', 20)}"
    found = text_for(words("t", 20), "user", own=words("q", 20), other=words("a", 20), limit=52)
    assert found == f"{words('q', 10)}\n{words('t', 20)}\n{words('a', 20)}"


def test_the_own_turns_anchor_is_left_out_when_the_other_has_to_be_shortened() -> None:
    found = text_for(words("t", 20), "assistant", own="short", other=words("q", 20), limit=32)
    assert found == f"{words('q', 10)}\n{words('t', 20)}"


def test_the_own_turns_anchor_takes_what_a_missing_other_one_leaves() -> None:
    assert text_for(words("t", 20), "user", own=words("q", 20), limit=32) == f"{words('q', 10)}\n{words('t', 20)}"


def test_a_target_that_is_too_long_is_shortened_and_stands_alone() -> None:
    for role in ("user", "assistant", "system"):
        assert text_for(words("t", 1000), role, own="a", other="q", limit=12) == words("t", 10)


def test_a_target_that_fills_the_limit_stands_alone() -> None:
    assert text_for(words("t", 10), "user", own="a", other="q", limit=12) == words("t", 10)


def test_only_words_longer_than_words_are_get_torn() -> None:
    assert text_for("one two three", "system", limit=10, count=count_bytes) == "one two"
    assert text_for("東京" * 500, "system", limit=62, count=count_bytes) == "東京" * 10
    assert text_for("a " + "x" * 100, "system", limit=52, count=count_bytes) == "a " + "x" * 48


def test_nothing_is_said_where_nothing_fits() -> None:
    for limit in (-1, 0, 1, 2):
        assert text_for("one two three", "user", other="x", limit=limit) == ""


part = st.text(alphabet="abc .,\n東🎉", max_size=120) | st.integers(0, 200).map(lambda count: words("word", count))
counts = st.sampled_from([count_words, count_bytes, count_like_subwords])
roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])


def in_order(role: Role, by_priority: list[str]) -> str:
    target, other, own = by_priority
    order = {"assistant": (other, own, target), "user": (own, target, other), "system": (target,)}[role]
    return "\n".join(part for part in order if part)


@given(part, roles, st.none() | part, st.none() | part, counts, st.integers(0, 300))
def test_parts_keep_the_limit_their_order_and_their_priority(
    target: str, role: Role, own: str | None, other: str | None, count: Callable[[str], int], limit: int
) -> None:
    found = text_for(target, role, own, other, limit=limit, count=count)
    assert found == "" or count(found) <= limit
    by_priority = [target.strip(), (other or "").strip(), (own or "").strip()]
    taken = ["", "", ""]
    for place, text in enumerate(by_priority):
        with_this = [*taken[:place], text, *taken[place + 1 :]]
        if text and count(in_order(role, with_this)) > limit:
            beginnings = (text[:length].rstrip() for length in range(len(text)))
            assert found in {in_order(role, [*taken[:place], start, *taken[place + 1 :]]) for start in beginnings}
            return
        taken = with_this
    assert found == in_order(role, taken)


@given(part, st.none() | part, counts, st.integers(30, 300))
def test_a_target_with_words_is_always_there(
    target: str, other: str | None, count: Callable[[str], int], limit: int
) -> None:
    found = text_for(target, "assistant", own="anchor", other=other, limit=limit, count=count)
    if target.strip() and count(target.strip()) <= limit:
        assert found.endswith(target.strip())
    elif target.strip():
        assert found
        assert target.strip().startswith(found)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["a", "bb.", "ccccccccc", "?!?!", "\n\n", "東京" * 30]), min_size=300, max_size=900))
def test_a_long_text_is_cut_close_to_the_limit_with_few_counts(pieces: list[str]) -> None:
    counter = Counter(count_like_subwords)
    found = text_for(" ".join(pieces), "system", count=counter)
    assert counter.calls <= 20
    assert count_like_subwords(found) >= 256 - 256 // 64 - 15


@pytest.mark.parametrize("length", [300, 3_000, 300_000])
def test_an_even_text_of_any_length_takes_a_handful_of_counts(length: int) -> None:
    counter = Counter(count_like_subwords)
    text_for(words("t", length), "assistant", own=ANSWER, other=QUESTION, count=counter)
    assert counter.calls <= 8


@settings(max_examples=25)
@given(
    *[st.lists(st.sampled_from(["why", "Grüße", "東京🎉", "x=1;", "internationalisation", "\n\n"]), max_size=300)] * 3,
    roles,
)
def test_the_bundled_embedders_limit_is_kept(
    minilm: Embedder, target: list[str], own: list[str], other: list[str], role: Role
) -> None:
    parts = [" ".join(written) for written in (target, own, other)]
    found = text_for(parts[0], role, parts[1], parts[2], limit=minilm.max_tokens, count=minilm.count_tokens)
    assert minilm.count_tokens(found) <= minilm.max_tokens
    if minilm.count_tokens(parts[0].strip()) <= minilm.max_tokens:
        assert parts[0].strip() in found


def test_the_bundled_embedder_reads_nearly_as_much_as_it_can(minilm: Embedder) -> None:
    assert minilm.max_tokens == 256
    found = text_for(f"{LATER} " * 20, "assistant", f"{ANSWER} " * 20, f"{QUESTION} " * 20, count=minilm.count_tokens)
    assert 250 <= minilm.count_tokens(found) <= 256
    assert found.startswith(QUESTION)
    assert found.endswith((f"{LATER} " * 20).strip())


def test_partners_are_the_question_before_and_the_answer_behind() -> None:
    assert partner(29, "user") == (30, "assistant")
    assert partner(2**70, "assistant") == (2**70 - 1, "user")
    assert partner(0, "system") is None


def test_an_answers_anchor_lets_all_chunks_of_its_question_be_embedded_again() -> None:
    system = ChunkKey(0, 0, "system")
    earlier = [ChunkKey(1, 0, "user"), ChunkKey(2, 0, "assistant"), ChunkKey(3, 0, "user"), ChunkKey(3, 1, "user")]
    answer = [ChunkKey(4, 0, "assistant"), ChunkKey(4, 1, "assistant")]
    assert to_embed_again(answer, [system, *earlier]) == earlier[2:]
    assert to_embed_again(answer, [*earlier, *answer]) == earlier[2:]
    assert to_embed_again(answer[1:], [*earlier, answer[0]]) == []


def test_a_new_question_and_a_new_system_chunk_change_nothing_before_them() -> None:
    earlier = [ChunkKey(0, 1, "system"), ChunkKey(1, 0, "user"), ChunkKey(2, 0, "assistant")]
    assert to_embed_again([ChunkKey(3, 0, "user"), ChunkKey(3, 1, "user")], earlier) == []
    assert to_embed_again([ChunkKey(0, 0, "system")], earlier) == []


def test_anchors_that_come_late_are_told_to_those_that_waited() -> None:
    waiting = [ChunkKey(3, 1, "user"), ChunkKey(4, 0, "assistant"), ChunkKey(4, 1, "assistant")]
    assert to_embed_again([ChunkKey(3, 0, "user")], [*waiting, ChunkKey(5, 0, "user")]) == waiting
