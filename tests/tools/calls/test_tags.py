"""Tool calls are found in a reply however it is split into tokens, and never in code."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.tools.calls.tags import TagParser

_ALPHABET = [
    "<tool>", "</tool>", "<tool_call>", "</tool_call>", "<to", "ol>", "</", ">", "<",
    "```", "~~~", "`", "``", "````", "\n", " ", "    ", "x", "jq '.'", "é", "⚙️", "\r\n",
]  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_ALPHABET), max_size=40).map("".join) | st.text(max_size=60)


def calls(text: str) -> list[str]:
    return [call.text for call in TagParser().push(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I note it. <tool>jq '.' notes.json</tool> Done.", ["jq '.' notes.json"]),
        ("<tool>a</tool><tool>b</tool>", ["a", "b"]),
        ('<tool_call>\n{"name": "x"}\n</tool_call>', ['\n{"name": "x"}\n']),
        ("<tool>a</tool_call></tool>", ["a</tool_call>"]),
        ("<tool>never closed", []),
        ("closed only</tool>", []),
        ("The <tool> tag calls: <tool>a</tool>", ["a"]),
        ("<TOOL>a</TOOL> <tool >a</tool>", []),
        ("<tool></tool>", [""]),
        ("<tool>a\nb</tool>", ["a\nb"]),
    ],
)
def test_a_call_stands_between_its_tags(text: str, found: list[str]) -> None:
    assert calls(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\n<tool>a</tool>\n```\n<tool>b</tool>", ["b"]),
        ("~~~ sh\n<tool>a</tool>\n```\n<tool>a</tool>\n~~~\n<tool>b</tool>", ["b"]),
        ("````\n```\n<tool>a</tool>\n````\n<tool>b</tool>", ["b"]),
        ("   ```xml\n<tool>a</tool>\n   ```  \n<tool>b</tool>", ["b"]),
        ("```\n<tool>a</tool>", []),
        ("```\n``` not the end\n<tool>a</tool>\n```\n<tool>b</tool>", ["b"]),
        ("Write `<tool>a</tool>` for a call. <tool>b</tool>", ["b"]),
        ("Write ``<tool>`a`</tool>`` so. <tool>b</tool>", ["b"]),
        ("```<tool>a</tool>``` <tool>b</tool>", ["b"]),
        ("`<tool>a</tool>` <tool>b</tool>", ["b"]),
        ("a stray ` here <tool>a</tool>\n<tool>b</tool>", ["b"]),
        ("> `x` and ```y``` <tool>b</tool>", ["b"]),
        ("~~struck~~ <tool>b</tool>", ["b"]),
        ("text ```\n<tool>b</tool>", ["b"]),
    ],
)
def test_in_code_it_is_text(text: str, found: list[str]) -> None:
    assert calls(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<tool>save_memory('A', 'a ` b')</tool>", ["save_memory('A', 'a ` b')"]),
        ("<tool>\n```json\n{}\n```\n</tool>", ["\n```json\n{}\n```\n"]),
        ("The <tool> tag:\n```\n<tool>a</tool>\n```\n", []),
    ],
)
def test_the_words_of_a_call_may_have_backticks_and_blocks(text: str, found: list[str]) -> None:
    assert calls(text) == found


@settings(max_examples=1000)
@given(_TEXTS, st.data())
def test_the_same_text_gives_the_same_calls_whatever_the_splits(text: str, data: st.DataObject) -> None:
    whole = TagParser().push(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    parser, found = TagParser(), []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += parser.push(text[start:end])
    single = TagParser()
    assert found == whole == [call for sign in text for call in single.push(sign)]
    for call in whole:
        assert text[: call.end].endswith(f"<{call.form}>{call.text}</{call.form}>")


@given(st.lists(st.sampled_from(["plain\n", "a `b` c\n", "1 > 0\n", "```\n<tool>no</tool>\n```\n"])))
def test_what_stands_around_a_call_does_not_hide_it(around: list[str]) -> None:
    before = "".join(around)
    assert calls(f"{before}<tool>yes</tool>\n{before}") == ["yes"]
