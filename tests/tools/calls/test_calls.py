"""The text between the tags becomes a tool's name and arguments, in whatever form a model writes it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.tools.calls.calls import LONGEST_CALL, AskedFor, parse_call

NAMES = {"save_memory": ("path", "content", "context_tokens"), "list_memory": ("root",)}


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("jq '.' notes.json", "query_notes", {"filter": "."}),
        (" jq '.a = 1' notes.json > output ", "patch_notes", {"filter": ".a = 1"}),
        ("jq '.a > 1' notes.json", "query_notes", {"filter": ".a > 1"}),
        ('{"name": "list_memory", "arguments": {"root": "A"}}', "list_memory", {"root": "A"}),
        ('{"name": "list_memory", "parameters": {"root": "A"}}', "list_memory", {"root": "A"}),
        ('{"name": "list_memory", "arguments": "{\\"root\\": \\"A\\"}"}', "list_memory", {"root": "A"}),
        ('{"name": "list_memory"}', "list_memory", {}),
        ('```json\n{"name": "list_memory"}\n```', "list_memory", {}),
        ('save_memory("A/B", {"x": 1})', "save_memory", {"path": "A/B", "content": {"x": 1}}),
        ("saveMemory('A', 1, context_tokens=5)", "save_memory", {"path": "A", "content": 1, "context_tokens": 5}),
        ("list_memory()", "list_memory", {}),
        ("unknown(x=1)", "unknown", {"x": 1}),
    ],
)
def test_all_ways_to_write_a_call(text: str, name: str, arguments: dict[str, Any]) -> None:
    assert parse_call(text, NAMES) == AskedFor(name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "hello",
        "jq",
        "jq '.'",
        "jq '.' other.json",
        "jq '.' notes.json > /etc/passwd",
        "{}",
        '{"name": 1}',
        '{"name": "x", "arguments": 3}',
        '{"name": "x", "arguments": "no"}',
        "[1]",
        "list_memory('a', 'b')",
        "save_memory('A', path='B')",
        "x" * (LONGEST_CALL + 1),
        '{"a":' * 100_000,
        '{"name": "\\ud800"}',
    ],
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_call(text, NAMES)
    assert "\n" not in str(refusal.value)


@given(st.text())
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    for call in (text, f"jq {text} notes.json", f'{{"name": {text}}}', f"list_memory({text})"):
        try:
            parse_call(call, NAMES)
        except InputError:
            continue
