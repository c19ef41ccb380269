"""What a person types is plain text unless it is JSON, or begins like it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.text.plain_or_json import is_plain_text


@pytest.mark.parametrize("text", ["Milk", "Call Ann: 12:30", "3 eggs", "(yes)", "nothing", "- a\n- b", "1,5", "é"])
def test_words_are_plain_text(text: str) -> None:
    assert is_plain_text(text)


@pytest.mark.parametrize("text", ["", "  \n", "{", '{"a": }', "[1", '"a', " {}", "null", "12", "-1.5e3", " true "])
def test_json_its_beginnings_and_nothing_are_not(text: str) -> None:
    assert not is_plain_text(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_valid_json_is_taken_for_text(value: object) -> None:
    assert not is_plain_text(json.dumps(value))
