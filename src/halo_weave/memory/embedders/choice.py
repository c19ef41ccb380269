"""Finds the embedder that made a memory's vectors, even if the settings now name another one.

A file beside the memory records how each embedder was opened, without keys and passwords. It is a convenience, not part
of the record: without it, the bundled embedder and the one in the settings are still known. A server that the settings
no longer name is never contacted, because it would receive the texts.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from halo_weave.errors import EmbedderError
from halo_weave.memory.embedders import minilm
from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.text.server_address import without_password

Notice = Callable[[str], None]
"""Receives a sentence for the user."""
_Notes = dict[str, EmbedderSettings]
_WAY_OUT = "run `halo-weave memory reembed` to compute vectors with the embedder in the settings"


class EmbedderChoice:
    def __init__(self, settings: EmbedderSettings, notes_file: Path, notice: Notice) -> None:
        self._settings = settings
        self._notes_file = notes_file
        self._notice = notice

    def use(self, settings: EmbedderSettings) -> None:
        """Switch to other settings. The embedder of the existing vectors serves until they are recomputed."""
        self._settings = settings

    def named_by_settings(self) -> Embedder:
        embedder = open_embedder(self._settings, self._notice)
        self._note(embedder.name, self._settings)
        return embedder

    def of_vectors(self, name: str | None) -> Embedder:
        """Return the embedder with this name, or the one in the settings if there are no vectors yet.

        Raises EmbedderError if it cannot be opened.
        """
        if name is None:
            return self.named_by_settings()
        noted = self._noted(name)
        try:
            embedder = self.named_by_settings()
            if embedder.name == name:
                return embedder
            embedder.close()
            problem = f"the settings name {embedder.name}"
        except EmbedderError as error:
            if noted in (None, self._settings):
                raise
            problem = f"the embedder in the settings cannot be opened ({str(error).rstrip('.')})"
        embedder = self._earlier(noted, name, problem)
        self._notice(
            f"The memory's vectors were computed by {name}, but {problem}. Search still uses {name}; {_WAY_OUT}."
        )
        return embedder

    def _earlier(self, noted: EmbedderSettings | None, name: str, problem: str) -> Embedder:
        if noted is not None and noted != self._settings and noted.url in ("", self._settings.url):
            embedder = open_embedder(noted, self._notice)
            if embedder.name == name:
                return embedder
            embedder.close()
        raise EmbedderError(
            f"The memory's vectors were computed by {name}, which cannot be opened with these settings, and {problem}; "
            f"{_WAY_OUT}."
        )

    def _noted(self, name: str) -> EmbedderSettings | None:
        if name == minilm.NAME:
            return EmbedderSettings()
        noted = self._notes().get(name)
        # The file has no keys or passwords. Those in the settings may be used only for the same server.
        if noted is not None and without_password(noted.url) == without_password(self._settings.url):
            return msgspec.structs.replace(noted, url=self._settings.url, api_key=self._settings.api_key)
        return noted

    def _note(self, name: str, settings: EmbedderSettings) -> None:
        notes = self._notes()
        settings = msgspec.structs.replace(settings, url=without_password(settings.url), api_key="")
        if settings.kind == "minilm" or notes.get(name) == settings:
            return
        with suppress(OSError):
            _replace(self._notes_file, msgspec.json.encode({**notes, name: settings}))

    def _notes(self) -> _Notes:
        try:
            return msgspec.json.decode(self._notes_file.read_bytes(), type=_Notes)
        except (OSError, msgspec.MsgspecError):
            return {}


def _replace(file: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", suffix=".part", dir=file.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
