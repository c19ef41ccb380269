"""Commands on the notes as models write them: parsed, or refused with a message that shows the right form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.tools.notes.command import NotesCommand, is_notes_command, parse_notes_command


@pytest.mark.parametrize(
    ("text", "filter_text", "is_write"),
    [
        ("jq '.' notes.json", ".", False),
        ("  jq   '.topics'   notes.json \n", ".topics", False),
        ("jq . notes.json", ".", False),
        ("jq .topics.garden[0] notes.json", ".topics.garden[0]", False),
        ("jq -r '.x' notes.json", ".x", False),
        ("jq -r -c --raw-output '.x' ./notes.json", ".x", False),
        ('jq ".topics" notes.json', ".topics", False),
        ('jq ".x = \\"a \\\\ b\\"" notes.json > output', '.x = "a \\ b"', True),
        ("jq '.field = \"value\"' notes.json > output", '.field = "value"', True),
        ("jq '.field = \"value\"' notes.json >output", '.field = "value"', True),
        ("jq '.array += [\"item\"]' notes.json>output", '.array += ["item"]', True),
        ("jq '.n > 1' notes.json", ".n > 1", False),
        ("jq '.n > 1' notes.json > output", ".n > 1", True),
        ("jq '.x = \"> output\"' notes.json", '.x = "> output"', False),
        ("jq '.x = \"notes.json > output\"' notes.json > output", '.x = "notes.json > output"', True),
        ("jq '.x = \"it's Bob's\"' notes.json > output", ".x = \"it's Bob's\"", True),
        ("jq '.x = \"it'\\''s\"' notes.json > output", '.x = "it\'s"', True),
        ("jq '.x = \"it'\"'\"'s\"' notes.json > output", '.x = "it\'s"', True),
        ("jq '.a\n| .b' notes.json", ".a\n| .b", False),
        ("jq '' notes.json", "", False),
    ],
)
def test_a_command_is_a_filter_and_whether_it_writes(text: str, filter_text: str, is_write: bool) -> None:
    assert is_notes_command(text)
    assert parse_notes_command(text) == NotesCommand(filter_text, is_write)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("jq", "has no notes.json"),
        ("jq '.'", "has no notes.json"),
        ("jq notes.json", "has no notes.json"),
        ("jq '.' other.json", "has no notes.json"),
        ("jq '.' /etc/notes.json", "has no notes.json"),
        ("jq '.' notes.json > notes.json", "Only > output can follow"),
        ("jq '.' notes.json >> output", "Only > output can follow"),
        ("jq '.' notes.json > output.json", "Only > output can follow"),
        ("jq '.' notes.json >", "Only > output can follow"),
        ("jq '.' notes.json | sh", "has no notes.json"),
        ("jq '.' notes.json > output; rm -r /", "Only > output can follow"),
        ("jq .a = 1 notes.json > output", "must be in quotes"),
        ("jq '.a notes.json", "must be in quotes"),
        ("jq $(ls) notes.json", "must be in quotes"),
        ("jq --arg a b '.' notes.json", "option --arg is not supported"),
        ("jq -n '1' notes.json", "option -n is not supported"),
        ("jq -f file notes.json", "option -f is not supported"),
    ],
)
def test_another_command_is_refused_with_the_form_it_should_have(text: str, reason: str) -> None:
    assert is_notes_command(text)
    with pytest.raises(
        InputError, match=r"write jq 'FILTER' notes\.json to read the notes, and add > output"
    ) as refused:
        parse_notes_command(text)
    assert reason in str(refused.value)


@pytest.mark.parametrize("text", ["", "jqx '.' notes.json", "cat notes.json | jq '.'", "save_memory('a', 1)"])
def test_other_text_is_no_command(text: str) -> None:
    assert not is_notes_command(text)
    with pytest.raises(InputError, match="not a command for the notes"):
        parse_notes_command(text)


@given(st.text(), st.booleans())
def test_whatever_is_in_single_quotes_without_any_is_the_filter(inner: str, is_write: bool) -> None:
    inner = inner.replace("'", "")
    text = f"jq '{inner}' notes.json{' > output' if is_write else ''}"
    assert parse_notes_command(text) == NotesCommand(inner, is_write)


@given(st.text(alphabet="jq '\"\\>notes.jsoutpu \n$-"))
def test_any_text_is_a_command_or_refused(text: str) -> None:
    try:
        parse_notes_command(text)
    except InputError as refused:
        sentence = str(refused)
        assert sentence.endswith(".")


def test_long_blanks_take_no_time() -> None:
    for text in ("jq " + " " * 30_000 + "x", "jq '" + " " * 30_000 + ">", "jq " + "> " * 15_000):
        with pytest.raises(InputError):
            parse_notes_command(text)
