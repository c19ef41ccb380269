"""Messages that need nothing from the past, by language and kind: one file per language, one list per kind."""

import tomllib
from importlib.resources import files

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru", "zh", "ja", "ar", "hi")


def _read(language: str) -> dict[str, tuple[str, ...]]:
    kinds = tomllib.loads(files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
    return {kind: tuple(message.strip() for message in messages) for kind, messages in kinds.items()}


MESSAGES: dict[str, dict[str, tuple[str, ...]]] = {language: _read(language) for language in LANGUAGES}
