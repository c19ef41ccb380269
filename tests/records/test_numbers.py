"""Numbers without a limit as keys and as text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.records.numbers import key_of_number, number_of_key, number_of_text, text_of_number

EDGES = [0, 1, 255, 256, 2**53, 2**63, 2**64 - 1, 2**64, 2**2032 - 1, 2**2032, 2**2040, 2**2041 + 5]

numbers = st.one_of(
    st.integers(0, 1000),
    st.integers(0, 2**70),
    st.integers(0, 2**2100),
    st.integers(1, 3000).map(lambda bits: 2**bits),
    st.integers(1, 3000).map(lambda bits: 2**bits - 1),
    st.sampled_from(EDGES),
)


@given(numbers, numbers)
def test_keys_have_the_order_of_their_numbers(one: int, other: int) -> None:
    assert (key_of_number(one) < key_of_number(other)) == (one < other)
    assert (key_of_number(one) == key_of_number(other)) == (one == other)


@given(numbers)
def test_a_number_comes_back_from_its_key_and_from_its_text(number: int) -> None:
    assert number_of_key(key_of_number(number)) == number
    assert number_of_text(text_of_number(number)) == number


@given(st.integers(0, 10**4000))
def test_the_text_is_the_usual_decimal_one(number: int) -> None:
    assert text_of_number(number) == str(number)


@given(st.binary(max_size=300))
def test_bytes_are_a_key_only_if_they_are_the_key_of_a_number(key: bytes) -> None:
    try:
        number = number_of_key(key)
    except InputError:
        return
    assert key_of_number(number) == key


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", " 1", "1 ", "1\n", "01", "00", "1.0", "1e3", "1_000", "٣", "1²", "0x1", "one", "1,000", "\0"],
)
def test_wrong_forms_of_text_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a whole number of at least 0"):
        number_of_text(text)


@pytest.mark.parametrize("value", [1, 1.0, True, None, b"1", ["1"]])
def test_only_text_is_read_as_text(value: object) -> None:
    with pytest.raises(InputError, match="is not a whole number of at least 0"):
        number_of_text(value)


@pytest.mark.parametrize("number", [-1, -(2**2041), True, False, 1.0, "1", None])
@pytest.mark.parametrize("convert", [key_of_number, text_of_number])
def test_what_is_no_whole_number_from_0_is_refused(convert: Any, number: Any) -> None:
    with pytest.raises(InputError, match=r"whole number|negative"):
        convert(number)


@pytest.mark.parametrize(
    "key", [b"", b"\x01", b"\x01\x00", b"\x02\x00\x01", b"\x00\x00", b"\xff", b"\xff" + bytes(7), b"\xff" + bytes(8)]
)
def test_damaged_keys_are_refused(key: bytes) -> None:
    with pytest.raises(InputError, match="is not the key of a number"):
        number_of_key(key)


def test_numbers_longer_than_python_likes_to_write_work_too() -> None:
    number = 10**20_000 + 7
    assert text_of_number(number) == "1" + "0" * 19_999 + "7"
    assert number_of_text(text_of_number(number)) == number == number_of_key(key_of_number(number))
    with pytest.raises(InputError, match=r"-1000.* is negative"):
        text_of_number(-number)


def test_messages_stay_short_whatever_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        number_of_text("9" * 100_000 + "x")
    assert len(str(caught.value)) < 200
