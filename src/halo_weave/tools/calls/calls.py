"""Parses the text of a call into a tool's name and arguments.

A call has one of three forms: `jq '.topics' notes.json`, a JSON object with `name` and `arguments`, or a function call
such as `query_memory("Goals/Trip")`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.tools.calls.function_form import is_function_form, parse_function_form
from halo_weave.tools.notes.command import is_notes_command, parse_notes_command

LONGEST_CALL = 32_768
_FENCED = re.compile(r"(```|~~~)\w*\n(.*?)\n?\1", re.DOTALL)
_WAYS = """write jq '.' notes.json, or {"name": …, "arguments": {…}}, or name("…")"""


class AskedFor(NamedTuple):
    """The tool and arguments that a call asks for. Neither has been checked yet."""

    name: str
    arguments: dict[str, Any]


def parse_call(text: str, argument_names: Mapping[str, Sequence[str]]) -> AskedFor:
    """`argument_names` lists each tool's arguments in order. Raises InputError if the text is not a call."""
    if len(text) > LONGEST_CALL:
        raise InputError(f"The call has {len(text):,} characters; the limit is {LONGEST_CALL:,}.")
    bare = _unfenced(text.strip())
    if not bare:
        raise InputError(f"The call is empty; {_WAYS}.")
    if is_notes_command(bare):
        command = parse_notes_command(bare)
        return AskedFor("patch_notes" if command.is_write else "query_notes", {"filter": command.filter})
    if bare.startswith("{"):
        return _of_json(bare)
    if is_function_form(bare):
        return _of_function(bare, argument_names)
    raise InputError(f"{bare[:40]!r} is not a valid call; {_WAYS}.")


def _unfenced(text: str) -> str:
    """Some models put a code block inside the tags."""
    fenced = _FENCED.fullmatch(text)
    return fenced[2].strip() if fenced else text


def _of_json(text: str) -> AskedFor:
    try:
        call = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(f"The call is not valid JSON: {error}.") from None
    name = call.get("name") if isinstance(call, dict) else None
    arguments = call.get("arguments", call.get("parameters", {})) if isinstance(call, dict) else None
    if isinstance(arguments, str):
        arguments = _inner_json(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise InputError('A JSON call has the form {"name": …, "arguments": {…}}.')
    return AskedFor(name, arguments)


def _inner_json(text: str) -> Any:
    """Some models write the arguments as a JSON string."""
    try:
        return msgspec.json.decode(text or "{}")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _of_function(text: str, argument_names: Mapping[str, Sequence[str]]) -> AskedFor:
    call = parse_function_form(text)
    names = argument_names.get(call.name)
    if names is None:
        return AskedFor(call.name, call.by_name)
    if len(call.by_place) > len(names):
        raise InputError(f"{call.name} takes {len(names)} arguments, but {len(call.by_place)} were given.")
    arguments = dict(zip(names, call.by_place, strict=False))
    twice = [name for name in call.by_name if name in arguments]
    if twice:
        raise InputError(f"{call.name} has the argument {twice[0]} twice.")
    return AskedFor(call.name, {**arguments, **call.by_name})
