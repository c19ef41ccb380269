"""Creates the engine that the settings ask for."""

from pathlib import Path

from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable, SettingError


def open_engine(settings: EngineSettings) -> Engine:
    """Open the engine that the settings name. The module of each kind is imported only when it is needed."""
    match settings.kind:
        case "llamacpp":
            from halo_weave.engine.llamacpp.engine import LlamaEngine

            return LlamaEngine(settings)
        case "kobold":
            from halo_weave.engine.kobold_client.client import KoboldEngine

            return KoboldEngine(_required_url(settings), api_key=settings.api_key)
        case "openai":
            from halo_weave.engine.openai_client.client import OpenAIEngine

            return OpenAIEngine(
                _required_url(settings),
                model=settings.model,
                api_key=settings.api_key,
                context_tokens=settings.context_tokens,
            )
        case "echo":
            from halo_weave.engine.echo import EchoEngine

            return EchoEngine(context_tokens=settings.context_tokens or 4096)


def require_usable(settings: EngineSettings) -> None:
    """Raise SettingError if it is plain, without loading anything, that no engine can be opened with these settings."""
    if settings.kind == "llamacpp" and settings.model:
        from halo_weave.engine.llamacpp.model import require_gguf

        try:
            require_gguf(Path(settings.model).expanduser())
        except EngineUnavailable as error:
            raise SettingError(f"engine.model was not changed: {error}") from error
    elif settings.kind in ("kobold", "openai"):
        _required_url(settings)


def _required_url(settings: EngineSettings) -> str:
    if not settings.url:
        raise SettingError(f"engine.url is empty; set it to the address of the {settings.kind} server.")
    return settings.url
