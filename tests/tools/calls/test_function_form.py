"""A call in function form is read as a person would read it, and anything else is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.tools.calls.function_form import FunctionCall, parse_function_form

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('list_memory("Goals")', FunctionCall("list_memory", ["Goals"], {})),
        ("list_memory()", FunctionCall("list_memory", [], {})),
        ("await saveMemory('A/B', {\"x\": [1, true]},\n contextTokens = 50);",
         FunctionCall("save_memory", ["A/B", {"x": [1, True]}], {"context_tokens": 50})),
        ("f('it\\'s \"so\"', query: null)", FunctionCall("f", ['it\'s "so"'], {"query": None})),
        ("f(True, None, False)", FunctionCall("f", [True, None, False], {})),
        ("f('a\\n', 'ü (,) =')", FunctionCall("f", ["a\n", "ü (,) ="], {})),
    ],
)  # fmt: skip
def test_a_call_is_read(text: str, call: FunctionCall) -> None:
    assert parse_function_form(text) == call


@pytest.mark.parametrize(
    "text",
    ["", "f", "f(", "f(1", "f(1 2)", "f(1,,2)", "f(x)", "f(a=1, a=2)", "f(a=1, 2)", "f(1) and more", "f('", "1f()",
     "f(" + "[" * 100_000 + ")"],
)  # fmt: skip
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError):
        parse_function_form(text)


@given(_NAMES, st.lists(_JSON, max_size=3), st.dictionaries(_NAMES, _JSON, max_size=3))
def test_every_json_value_comes_through(name: str, by_place: list[Any], by_name: dict[str, Any]) -> None:
    values = [json.dumps(value) for value in by_place] + [f"{key}={json.dumps(by_name[key])}" for key in by_name]
    assert parse_function_form(f"{name}({', '.join(values)})") == FunctionCall(name, by_place, by_name)


@given(st.text(st.characters(codec="utf-8")))
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    for call in (text, f"f({text})", f"f('{text}')"):
        try:
            parse_function_form(call)
        except InputError:
            continue
