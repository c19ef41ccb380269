"""The chunks of a turn: worked examples, and properties of every text and every tokenization."""

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.errors import SettingError
from halo_weave.records.tokens import Token
from halo_weave.text.chunking import Chunker, chunks_of


def tokens_of(*texts: str) -> list[Token]:
    return [Token(index, text) for index, text in enumerate(texts)]


def text_of(tokens: Iterable[Token]) -> str:
    return "".join(token.text for token in tokens)


def characters(text: str) -> list[Token]:
    return tokens_of(*text)


def split(*texts: str, min_tokens: int = 1, max_tokens: int = 0) -> list[str]:
    return [text_of(chunk) for chunk in chunks_of(tokens_of(*texts), min_tokens=min_tokens, max_tokens=max_tokens)]


def split_characters(text: str, *, min_tokens: int = 1, max_tokens: int = 0) -> list[str]:
    return split(*text, min_tokens=min_tokens, max_tokens=max_tokens)


class Structure(NamedTuple):
    starts: list[int]
    fences: list[tuple[int, int]]


def structure_of(text: str) -> Structure:
    """The same rules, applied to the lines of a complete text."""
    starts: list[int] = []
    fences: list[tuple[int, int]] = []
    closing: re.Pattern[str] | None = None
    place, opened_at, is_after_block = 0, 0, False
    for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
        opening = re.fullmatch(r" {0,3}(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,})[^\n]*\n?)", line)
        is_blank = not line.strip(" \t\r\n")
        if closing:
            is_after_block = closing.fullmatch(line) is not None
            if is_after_block:
                closing = None
                fences.append((opened_at, place + len(line)))
        elif opening:
            starts.append(place)
            marks = opening["ticks"] or opening["tildes"]
            closing = re.compile(rf" {{0,3}}{marks}{marks[0]}*[ \t\r]*\n?")
            opened_at, is_after_block = place, False
        else:
            if is_after_block and not is_blank:
                starts.append(place)
            is_after_block = is_blank or line.startswith("}")
        place += len(line)
    return Structure(starts, [*fences, (opened_at, len(text) + 1)] if closing else fences)


def expected_sizes(texts: list[str], min_tokens: int) -> list[int]:
    structure = structure_of("".join(texts))
    places = [0, *accumulate(map(len, texts))]

    def is_inside_fence(cut: int) -> bool:
        return any(start < places[cut] < end for start, end in structure.fences)

    cuts = [0]
    for start in structure.starts:
        behind = next(cut for cut, place in enumerate(places) if place >= start)
        cut = behind - 1 if is_inside_fence(behind) else behind
        if cut - cuts[-1] >= min_tokens and not is_inside_fence(cut):
            cuts.append(cut)
    return [end - start for start, end in pairwise([*cuts, len(texts)]) if end > start]


lines = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", " ", "   ", "    ", "\t", "> "]),
    st.sampled_from(["", "", "", "`", "``", "```", "```", "````", "~~", "~~~", "~~~~", "}", "text"]),
    st.sampled_from(["", "", "", " ", "\t", "\r", "py", "a`b", " ~~~", "é🎉 word."]),
)
line_ends = st.sampled_from(["\n", "\n", "\r\n"])
written_lines = st.lists(st.tuples(lines, line_ends), max_size=25).map(
    lambda written: "".join(line + end for line, end in written)
)
texts = st.one_of(
    st.builds(lambda whole, rest: whole + rest, written_lines, lines), st.text(alphabet="`~} \n\ra", max_size=40)
)


@st.composite
def token_texts(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    places = st.lists(st.integers(min_value=0, max_value=len(text)), max_size=2 * len(text))
    return [text[start:end] for start, end in pairwise(sorted([0, len(text), *draw(places)]))]


min_sizes = st.integers(min_value=1, max_value=12)


@given(token_texts(), min_sizes)
@example(["a", "\n```\n```"], 1)
def test_chunks_are_those_of_the_rules_applied_to_the_whole_text(pieces: list[str], min_tokens: int) -> None:
    found = chunks_of(tokens_of(*pieces), min_tokens=min_tokens)
    assert [len(chunk) for chunk in found] == expected_sizes(pieces, min_tokens)


@given(token_texts(), min_sizes, st.integers(min_value=0, max_value=30))
@example(["a "] * 50, 3, 8)
@example([*[""] * 5, "`", *[""] * 7, "``\n"], 1, 12)
@example([*["a"] * 4, "\n", "`", *[""] * 11], 1, 12)
def test_joined_chunks_are_the_turn_and_all_but_the_last_have_the_minimum(
    pieces: list[str], min_tokens: int, more: int
) -> None:
    tokens = tokens_of(*pieces)
    max_tokens = min_tokens + more - 1 if more else 0
    found = chunks_of(tokens, min_tokens=min_tokens, max_tokens=max_tokens)
    assert [token for chunk in found for token in chunk] == tokens
    assert "".join(map(text_of, found)) == "".join(pieces)
    assert all(len(chunk) >= min_tokens for chunk in found[:-1])
    assert all(chunk for chunk in found)
    if max_tokens:
        assert all(len(chunk) <= max_tokens + min_tokens for chunk in found)


@given(token_texts(), min_sizes)
def test_no_chunk_ends_inside_a_fence(pieces: list[str], min_tokens: int) -> None:
    found = chunks_of(tokens_of(*pieces), min_tokens=min_tokens)
    ends = accumulate(len(text_of(chunk)) for chunk in found[:-1])
    fences = structure_of("".join(pieces)).fences
    assert not [end for end in ends for start, fence_end in fences if start < end < fence_end]


@given(texts.filter(bool), st.data())
def test_chunks_do_not_depend_on_the_tokens_if_these_end_where_blocks_do(text: str, data: st.DataObject) -> None:
    by_character = split_characters(text)
    places = st.lists(st.integers(min_value=0, max_value=len(text)), max_size=20)
    # Two cuts at the same place make an empty token, which must not change the chunks either.
    block_ends = accumulate(map(len, by_character))
    cuts = sorted([0, len(text), *block_ends, *structure_of(text).starts, *data.draw(places)])
    assert split(*(text[start:end] for start, end in pairwise(cuts))) == by_character


@given(token_texts(), min_sizes, st.integers(min_value=0, max_value=30))
def test_a_chunk_never_depends_on_what_comes_after_it_was_given(
    pieces: list[str], min_tokens: int, max_tokens: int
) -> None:
    tokens = tokens_of(*pieces)
    max_tokens = max_tokens and max(min_tokens, max_tokens)
    whole = chunks_of(tokens, min_tokens=min_tokens, max_tokens=max_tokens)
    chunker: Chunker[Token] = Chunker(min_tokens=min_tokens, max_tokens=max_tokens)
    given_so_far = []
    for count, token in enumerate(tokens, start=1):
        given_so_far += chunker.push(token)
        assert given_so_far == whole[: len(given_so_far)]
        assert sum(len(chunk) for chunk in given_so_far) <= count
    assert given_so_far + chunker.finish() == whole


def test_a_chunk_ends_after_a_blank_line() -> None:
    assert split_characters("one\n\ntwo\nthree\n\nfour") == ["one\n\n", "two\nthree\n\n", "four"]


def test_blank_lines_belong_to_what_stands_before_them() -> None:
    assert split_characters("one\n\n \n\t\n\n  two\n\n") == ["one\n\n \n\t\n\n", "  two\n\n"]


def test_blank_lines_at_the_beginning_may_be_a_chunk_only_by_their_size() -> None:
    assert split("\n\n", "one", min_tokens=2) == ["\n\none"]
    assert split("\n\n", "one", min_tokens=1) == ["\n\n", "one"]


def test_a_chunk_ends_after_a_line_that_starts_with_a_brace() -> None:
    assert split_characters("f {\n  }\n};\ng") == ["f {\n  }\n};\n", "g"]


def test_a_fence_begins_a_chunk_and_its_closing_line_ends_it() -> None:
    assert split_characters("see\n```py\na\n\n}\nb\n```\nthen") == ["see\n", "```py\na\n\n}\nb\n```\n", "then"]


def test_short_paragraphs_are_joined_until_the_minimum_is_reached() -> None:
    paragraphs = ["# Title\n\n", "A few words.\n\n", "More of them.\n\n", "The end."]
    words = [word for paragraph in paragraphs for word in re.findall(r"\s*\S+|\s+$", paragraph)]
    assert split(*words, min_tokens=6) == ["".join(paragraphs[:2]), "".join(paragraphs[2:])]


def test_64_tokens_are_the_minimum_unless_told() -> None:
    def sizes(words: int) -> list[int]:
        return [len(chunk) for chunk in chunks_of(tokens_of(*["a"] * words, "\n\n", "b"))]

    assert sizes(62) == [64]
    assert sizes(63) == [64, 1]


@pytest.mark.parametrize(
    "block",
    [
        "```\n\n```\n",
        "````md\n```\n\n```\n\n````\n",
        "~~~\n```\n\n~~~~~  \n",
        "   ```py\n\n}\n\n  ```\t\n",
        "```\n\n``` not closed\n\n    ```\n\n~~~\n\n```\n",
        "~~~ a`b ~~~\n\n~~~\n",
        "```\n\nnever closed\n\n",
        "```\r\n\r\n```\r\n",
    ],
)
def test_fences_stay_whole(block: str) -> None:
    closed = [] if "never" in block else ["after"]
    assert split_characters("before\n\n" + block + "".join(closed)) == ["before\n\n", block, *closed]


@pytest.mark.parametrize("line", ["    ```", "\t```", "``", "```a```", "x ```", "> ```", "``\\`", " \t~~~"])
def test_what_only_resembles_a_fence_is_text(line: str) -> None:
    assert split_characters(f"{line}\n\na") == [f"{line}\n\n", "a"]


def test_carriage_returns_belong_to_the_line_end() -> None:
    assert split("a", "\r", "\n\r", "\n", "b", "\r\n}\r", "\n", "c") == ["a\r\n\r\n", "b\r\n}\r\n", "c"]


def test_a_boundary_inside_a_token_ends_the_chunk_behind_it() -> None:
    assert split("one", ".\n\nTw", "o") == ["one.\n\nTw", "o"]
    assert split("```\nx\n``", "`\nThe", "n") == ["```\nx\n```\nThe", "n"]


def test_a_boundary_inside_a_token_with_the_beginning_of_a_fence_ends_the_chunk_before_it() -> None:
    assert split("see", ":\n``", "`py\nx\n```\n", "so") == ["see", ":\n```py\nx\n```\n", "so"]
    assert split("see:", "\n\n```", "\nx\n\n", "y") == ["see:", "\n\n```\nx\n\ny"]


def test_a_token_that_closes_one_fence_and_opens_another_holds_them_together() -> None:
    assert split("a\n", "```\n\n", "```\n```", "\n\n", "```\n", "b") == ["a\n", "```\n\n```\n```\n\n```\n", "b"]


def test_a_token_may_hold_a_whole_fence_and_more() -> None:
    assert split("a", "\n```\n\n```\nb\n\nc\n\n", "d") == ["a\n```\n\n```\nb\n\nc\n\n", "d"]


def test_tokens_without_text_belong_to_what_follows() -> None:
    found = chunks_of(tokens_of("a", "\n\n", "", "", "🎉"), min_tokens=1)
    assert [[token.id for token in chunk] for chunk in found] == [[0, 1], [2, 3, 4]]
    assert split("", "", "") == [""]
    assert split() == []


def test_a_chunk_is_given_with_the_first_character_that_makes_it_certain() -> None:
    chunker: Chunker[Token] = Chunker(min_tokens=1)
    given = [len(chunker.push(token)) for token in characters("a\n\nb\n``` c\nd\n```\n\n  e")]
    assert [place for place, count in enumerate(given) if count] == [3, 10, 20]
    assert [text_of(chunk) for chunk in chunker.finish()] == ["  e"]


def test_a_line_of_any_number_of_tokens_costs_no_more_than_its_length() -> None:
    for endless in (" ", "`", "```", "~~~", "a", "```\n "):
        assert len(split(*[endless] * 50_000, min_tokens=60_000)) == 1


def test_long_chunks_are_divided_at_the_best_place_of_their_second_half() -> None:
    words = ["One", " two", ".", " Three", " four", " five", "-", "six"]
    assert split(*words, max_tokens=4) == ["One two.", " Three four", " five-six"]
    assert split("a", " b.", "\n", "c.", " d", " e", max_tokens=5) == ["a b.\n", "c. d e"]
    assert split("a", "。", "b", "c", "d", max_tokens=4) == ["a。", "bcd"]
    assert split("a", "b", "", "", "é", "c", max_tokens=4) == ["ab", "éc"]


@pytest.mark.parametrize("end", ["。", "！", "？", "।", "؟", "۔", "።"])
def test_sentences_end_with_the_signs_of_each_script(end: str) -> None:
    assert split("a", " b", end, " c", "d", " e", "f", max_tokens=6) == [f"a b{end}", " cd ef"]


@pytest.mark.parametrize(
    "character",
    ["e\u0301", "हि", "น้ำ", "👩\u200d💻", "👍🏽", "🇩🇪", "\u1112\u1161\u11ab", "❤\ufe0f", "\r\n", "நி", "க்\u200dஷ"],
)
def test_no_chunk_ends_inside_what_is_read_as_one_character(character: str) -> None:
    """Each code point is a token; some have tokens without text before them, as bytes of a character have."""
    for before in range(1, 21):
        tokens = [*"x" * before, *(part for sign in character for part in ("", sign)), *"y" * 20]
        chunks = split(*tokens, max_tokens=20)
        assert "".join(chunks) == "".join(tokens)
        assert any(character in chunk for chunk in chunks), (before, chunks)


def test_a_character_that_never_ends_is_divided_all_the_same() -> None:
    assert max(map(len, split(*("e" + "\u0301" * 100), max_tokens=8))) <= 8


def test_a_fence_is_divided_only_if_it_alone_is_too_long() -> None:
    fence = ["```\n", *["x\n"] * 6, "```\n"]
    assert split("a", " b\n", *fence, "c", min_tokens=3, max_tokens=8) == ["a b\n" + "".join(fence), "c"]
    assert split("a", " b\n", *fence, "c", min_tokens=3, max_tokens=7) == ["a b\n```\n" + "x\n" * 6, "```\nc"]


@pytest.mark.parametrize(("min_tokens", "max_tokens"), [(0, 0), (-1, 0), (64, 63), (1, -1)])
def test_sizes_that_make_no_sense_are_refused(min_tokens: int, max_tokens: int) -> None:
    with pytest.raises(SettingError, match="must be at least"):
        Chunker(min_tokens=min_tokens, max_tokens=max_tokens)


def test_the_tokens_of_a_real_model_make_the_same_chunks(llama_engine: LlamaEngine) -> None:
    paragraph = "The kettle hums while 🎉 the rain counts the roof tiles, Grüße aus 東京. " * 5
    blocks = [
        f"{paragraph}\n\n",
        f"# Code\n\n{paragraph}\n",
        "```python\n" + "def f(x):\n    return {x}\n\n}\n" * 8 + "```\n\n",
        f"And then:\n\n- {paragraph}\n- {paragraph}\n\n",
        "The end.",
    ]
    tokens = llama_engine.tokenize("".join(blocks))
    assert [text_of(chunk) for chunk in chunks_of(tokens)] == blocks
