"""The settings of one window: the program's own, and what a person chose for this window."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from halo_weave.engine.protocol import GenerationSettings
from halo_weave.errors import SettingError
from halo_weave.weave.brightness.settings import ScorerSettings
from halo_weave.weave.settings import WeaveSettings


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    system_prompt: Annotated[
        str, msgspec.Meta(description="What the model is told before the conversation begins; empty for nothing.")
    ] = "You are a helpful assistant."


class PreviewSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[
        bool, msgspec.Meta(description="Search the memory also with what the model would begin to answer.")
    ] = False
    tokens: Annotated[int, msgspec.Meta(ge=1, le=512, description="Tokens of the answer that are previewed.")] = 24


class ReflectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[
        bool, msgspec.Meta(description="After a while of silence, let the model sum up its context for the memory.")
    ] = False
    after_minutes: Annotated[
        float, msgspec.Meta(ge=0.1, le=10_000, description="Minutes of silence before the model reflects.")
    ] = 10.0
    after_messages: Annotated[
        int, msgspec.Meta(ge=1, le=10_000, description="Messages since the last reflection before the next one.")
    ] = 6
    prompt: Annotated[str, msgspec.Meta(description="What the model is asked; empty for no reflection.")] = (
        "Summarise what matters of our conversation so far: facts, names, dates, decisions, open questions."
    )


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    is_on: Annotated[
        bool, msgspec.Meta(description="Carry out calls of tools that the model writes in its replies.")
    ] = True
    describe: Annotated[
        Literal["auto", "always", "never"],
        msgspec.Meta(
            description="Tell the model of its tools; auto tells only models that were trained on long contexts."
        ),
    ] = "auto"
    description_tokens: Annotated[
        int, msgspec.Meta(ge=0, le=100_000, description="Tokens that may be spent on telling the model of its tools.")
    ] = 600
    tree_levels: Annotated[
        int, msgspec.Meta(ge=0, le=16, description="Levels of the memory tree that the model is told of; 0 for none.")
    ] = 2
    rounds: Annotated[
        int, msgspec.Meta(ge=1, le=100, description="Calls of tools that are carried out in one reply.")
    ] = 5
    result_tokens: Annotated[
        int, msgspec.Meta(ge=16, le=100_000, description="The longest result of a call, in tokens.")
    ] = 256
    seconds: Annotated[
        float,
        msgspec.Meta(gt=0, le=600, description="Seconds that a call may take before the reply goes on without it."),
    ] = 10.0


class WindowSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chat: ChatSettings = ChatSettings()
    generation: GenerationSettings = GenerationSettings()
    weave: WeaveSettings = WeaveSettings()
    brightness: ScorerSettings = ScorerSettings()
    preview: PreviewSettings = PreviewSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    tools: ToolSettings = ToolSettings()


def with_overrides(settings: WindowSettings, overrides: Mapping[str, Any]) -> WindowSettings:
    """The settings with some values replaced by their dotted names, such as `generation.temperature`."""
    sections = {name: msgspec.to_builtins(getattr(settings, name)) for name in settings.__struct_fields__}
    for name, value in overrides.items():
        section, _, field = name.partition(".")
        if field not in sections.get(section, {}):
            raise SettingError(f"A window has no setting {name}.")
        sections[section][field] = value
    try:
        return msgspec.convert(sections, WindowSettings)
    except msgspec.ValidationError as error:
        raise SettingError(f"A setting of the window cannot be used: {error}.") from None


def is_usable(name: str, value: Any) -> bool:
    """False for what another version of the program knows, and this one does not."""
    try:
        with_overrides(WindowSettings(), {name: value})
    except SettingError:
        return False
    return True
