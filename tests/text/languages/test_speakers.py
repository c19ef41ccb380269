"""The speaker, where a text names one."""

import pytest

from halo_weave.text.languages.speakers import LONGEST, speaker_of


@pytest.mark.parametrize(
    ("opening", "speaker"),
    [
        ("Ada: I swim.", "Ada"),
        ("  Mary Ann : hello", "Mary Ann"),
        ("Ødegård:\nja", "Ødegård"),
        ("王芳: 你好", "王芳"),
        ("王芳：你好", "王芳"),
        ("आदित्य: नमस्ते", "आदित्य"),
        ("أحمد: مرحبا", "أحمد"),
        ("12：30 就晚了", None),
        ("I said it: no", "I said it"),
        ("It was said by all of them: no", None),
        ("12:30 is late", None),
        ("http://there", None),
        ("Note:", None),
        ("no colon", None),
        ("first line\nAda: second", None),
        ("", None),
    ],
)
def test_a_name_before_a_colon_at_the_beginning_speaks(opening: str, speaker: str | None) -> None:
    assert speaker_of(opening) == speaker


def test_no_more_than_the_longest_beginning_matters() -> None:
    long = f"{'x' * LONGEST}: said"
    assert speaker_of(long) == speaker_of(long[:LONGEST]) is None
