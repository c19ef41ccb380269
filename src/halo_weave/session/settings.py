"""The settings of one window: the program's defaults and the overrides of this window."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec

from halo_weave.engine.protocol import GenerationSettings
from halo_weave.errors import SettingError
from halo_weave.former_settings import FORMER_SETTINGS, former_setting_notice
from halo_weave.weave.brightness.settings import ScorerSettings
from halo_weave.weave.settings import WeaveSettings


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    system_prompt: Annotated[
        str, msgspec.Meta(description="Instructions that the model reads before the conversation; empty for none.")
    ] = "You are a helpful assistant."
    character: Annotated[
        str, msgspec.Meta(description="Who the model is to be; always in context. Usually set for one window.")
    ] = ""
    persona: Annotated[str, msgspec.Meta(description="Who the user is; always in context.")] = ""
    note: Annotated[
        str,
        msgspec.Meta(
            description="The author's note: what the model must not forget, such as a style or the state of a story; "
            "always in context."
        ),
    ] = ""


class PreviewSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[
        bool,
        msgspec.Meta(
            description="Search the memory with the message and with the first words that the model would reply. The "
            "reply starts a little later."
        ),
    ] = False


class ReflectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[
        bool,
        msgspec.Meta(
            description="Let the model write a summary of its context to the memory after a pause in the conversation."
        ),
    ] = False
    after_minutes: Annotated[
        float, msgspec.Meta(ge=0.1, le=10_000, description="Minutes without a message before the model reflects.")
    ] = 10.0
    prompt: Annotated[
        str, msgspec.Meta(description="Request that the model summarises by; empty turns reflection off.")
    ] = "Summarise what matters of our conversation so far: facts, names, dates, decisions, open questions."


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[bool, msgspec.Meta(description="Run the tool calls that the model writes in its replies.")] = True
    describe: Annotated[
        Literal["auto", "always", "never"],
        msgspec.Meta(
            description="Describe the tools to the model; auto does so only for models that were trained on long "
            "contexts, because the description distracts small models."
        ),
    ] = "auto"
    rounds: Annotated[int, msgspec.Meta(ge=1, le=100, description="Maximum number of tool calls in one reply.")] = 5
    result_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=16,
            le=100_000,
            description="Maximum length of a tool result in tokens. Raise it for a model with a large context.",
        ),
    ] = 256


class WindowSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chat: ChatSettings = ChatSettings()
    generation: GenerationSettings = GenerationSettings()
    weave: WeaveSettings = WeaveSettings()
    brightness: ScorerSettings = ScorerSettings()
    preview: PreviewSettings = PreviewSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    tools: ToolSettings = ToolSettings()


FRESH: Mapping[str, Any] = MappingProxyType({"weave.resurrection": False})
"""The settings of a window that starts without recall."""


def with_overrides(settings: WindowSettings, overrides: Mapping[str, Any]) -> WindowSettings:
    """The settings with some values replaced, given by dotted names such as `generation.temperature`."""
    sections = {name: msgspec.to_builtins(getattr(settings, name)) for name in settings.__struct_fields__}
    for name, value in overrides.items():
        section, _, field = name.partition(".")
        if name in FORMER_SETTINGS:
            raise SettingError(former_setting_notice(name, "of the window"))
        if field not in sections.get(section, {}):
            raise SettingError(f"A window has no setting {name}.")
        sections[section][field] = value
    try:
        return msgspec.convert(sections, WindowSettings)
    except msgspec.ValidationError as error:
        raise SettingError(f"A setting of the window is not valid: {error}.") from None


def is_usable(name: str, value: Any) -> bool:
    """False for a setting or value that this version of the program does not accept, though another version may."""
    try:
        with_overrides(WindowSettings(), {name: value})
    except SettingError:
        return False
    return True
