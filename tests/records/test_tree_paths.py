"""Paths of the memory tree: each has one spelling, and an invalid path gets a clear message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.records.tree_paths import ancestors_of, heading_of, is_under, parent_of, path_of_text, root_of_text


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("A/B/C", "A/B/C"),
        ("  A / B b /C\n", "A/B b/C"),
        ("Gru\u0308n/a\u030a", "Grün/å"),
        ("日本/🦉", "日本/🦉"),
        ("../.", "../."),
    ],
)
def test_a_path_is_written_in_one_way(text: str, path: str) -> None:
    assert path_of_text(text) == path_of_text(path) == path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; write at least one heading"),
        ("  ", "is empty"),
        ("/", "begins or ends with a slash"),
        ("/A", "begins or ends with a slash"),
        ("A/ ", "begins or ends with a slash"),
        ("A//B", "an empty heading"),
        ("A/ /B", "an empty heading"),
        ("A/\x00B", r"a control character \(U\+0000\)"),
        ("A\nB", r"a control character \(U\+000A\)"),
        ("A\u2028B", "a line break"),
        ("A\ud800", "an unpaired surrogate"),
        ("A" * 121, "121 characters; the limit is 120"),
        ("/".join("A" * 17), "17 headings; the limit is 16"),
        ("/".join(["A" * 100] * 7), "706 characters; the limit is 600"),
        ("A" * 100_000, "100,000 characters; the limit is 600"),
    ],
)
def test_what_is_no_path_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        path_of_text(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@given(st.text(max_size=40))
def test_whatever_is_taken_as_a_path_is_taken_again_as_the_same(text: str) -> None:
    try:
        path = path_of_text(text)
    except InputError:
        return
    assert path_of_text(path) == path
    assert all(heading and heading == heading.strip() for heading in path.split("/"))


def test_the_parts_of_a_path() -> None:
    assert (heading_of("A/B/C"), parent_of("A/B/C"), list(ancestors_of("A/B/C"))) == ("C", "A/B", ["A", "A/B"])
    assert (heading_of("A"), parent_of("A"), list(ancestors_of("A"))) == ("A", "", [])
    assert root_of_text("  ") == ""
    assert is_under("A/B", "A")
    assert is_under("A", "")
    assert not is_under("A2/B", "A")
    assert not is_under("A", "A")
