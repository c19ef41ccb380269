"""Reads SillyTavern's presets: of its text completion and chat completion samplers, and of system prompts.

A value that we have under another name is taken over; everything else is listed, so that nobody is misled about what a
preset does here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.session.settings import is_usable

_SETTINGS = {
    "temp": "generation.temperature",
    "temperature": "generation.temperature",
    "top_p": "generation.top_p",
    "top_k": "generation.top_k",
    "min_p": "generation.min_p",
    "rep_pen": "generation.repeat_penalty",
    "repetition_penalty": "generation.repeat_penalty",
    "genamt": "generation.max_tokens",
    "openai_max_tokens": "generation.max_tokens",
    "seed": "generation.seed",
    "system_prompt": "chat.system_prompt",
    "content": "chat.system_prompt",
}
_WHOLE = ("generation.top_k", "generation.max_tokens", "generation.seed")
_NAME, _PROMPTS, _MAIN_PROMPT = "name", "prompts", "main"


class ReadPreset(NamedTuple):
    """Our settings, and the names of what was left out, in the order of the file."""

    settings: dict[str, Any]
    ignored: list[str]


def read_preset(content: str | bytes) -> ReadPreset:
    """Raises InputError if this is no preset, or if nothing of it can be used."""
    try:
        preset = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(f"This is not a JSON file: {error}.") from None
    if not isinstance(preset, dict):
        raise InputError("This is not a SillyTavern preset: a preset is a JSON object.")
    settings: dict[str, Any] = {}
    ignored: list[str] = []
    for name, value in preset.items():
        setting, ours = _ours(name, value)
        if setting is not None and setting not in settings and is_usable(setting, ours):
            settings[setting] = ours
        elif name != _NAME and not _is_random_seed(name, value):
            ignored.append(name)
    if not settings:
        raise InputError("This file has no setting for sampling or prompts that is known here; nothing was imported.")
    return ReadPreset(settings, ignored)


def _ours(name: str, value: Any) -> tuple[str | None, Any]:
    if name == _PROMPTS:
        return "chat.system_prompt", _main_prompt(value)
    setting = _SETTINGS.get(name)
    if isinstance(value, float) and value.is_integer() and setting in _WHOLE:
        value = int(value)
    if setting == "generation.top_k" and value == -1:
        value = 0  # both stand for all tokens
    return setting, value


def _main_prompt(prompts: Any) -> Any:
    listed = prompts if isinstance(prompts, list) else []
    main = (one for one in listed if isinstance(one, Mapping) and one.get("identifier") == _MAIN_PROMPT)
    return next((one.get("content") for one in main), None)


def _is_random_seed(name: str, value: Any) -> bool:
    return name == "seed" and value == -1
