"""SillyTavern's presets: what we have is taken over, everything else is named."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.session.presets.presets import checked_preset
from halo_weave.session.presets.sillytavern import read_preset
from support.folders import TESTS

DATA = TESTS / "support" / "data"


def test_a_preset_of_text_completion_is_mapped() -> None:
    settings, ignored = read_preset((DATA / "sillytavern-text-completion.json").read_bytes())
    assert settings == {
        "generation.temperature": 1.15,
        "generation.top_p": 0.95,
        "generation.top_k": 0,
        "generation.min_p": 0.05,
        "generation.repeat_penalty": 1.08,
        "generation.max_tokens": 350,
    }
    assert ignored == [
        "temperature_last",
        "top_a",
        "tfs",
        "typical_p",
        "rep_pen_range",
        "no_repeat_ngram_size",
        "mirostat_mode",
        "dry_multiplier",
        "sampler_order",
        "max_length",
    ]


def test_a_preset_of_chat_completion_brings_its_main_prompt() -> None:
    settings, ignored = read_preset((DATA / "sillytavern-chat-completion.json").read_bytes())
    assert settings == {
        "generation.temperature": 0.9,
        "generation.top_p": 1,
        "generation.max_tokens": 400,
        "chat.system_prompt": "Write the next reply in a story.",
    }
    assert ignored == ["frequency_penalty", "stream_openai"]


def test_a_preset_of_a_system_prompt_is_read() -> None:
    assert read_preset('{"name": "Actor", "content": "You are an actor."}') == (
        {"chat.system_prompt": "You are an actor."},
        [],
    )


def test_a_value_out_of_range_is_ignored_by_name() -> None:
    assert read_preset('{"temp": 99, "top_p": 0.5, "genamt": "many"}') == (
        {"generation.top_p": 0.5},
        ["temp", "genamt"],
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not a JSON file"),
        ("[1, 2]", "a preset is a JSON object"),
        ('{"tfs": 1}', "no setting for sampling or prompts"),
        ("[" * 100_000, "not a JSON file"),
    ],
)
def test_what_is_no_preset_is_refused_in_one_sentence(content: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_preset(content)


_NAMES = st.sampled_from(["temp", "top_p", "top_k", "min_p", "rep_pen", "genamt", "seed", "prompts", "content", "x"])
_VALUES = st.none() | st.booleans() | st.integers(-10, 10**9) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(_NAMES, _VALUES | st.text() | st.lists(st.dictionaries(st.text(), st.text()))))
def test_whatever_is_imported_is_a_valid_preset(preset: dict[str, object]) -> None:
    try:
        settings, ignored = read_preset(msgspec.json.encode(preset))
    except InputError:
        return
    assert checked_preset("imported", settings).settings == settings
    assert set(ignored) <= set(preset)
