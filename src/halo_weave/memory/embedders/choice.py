"""Which embedder a memory's vectors are of, and how it is opened again when the settings name another one by now.

How each embedder was opened is kept in a file beside the memory, without keys and passwords. It is a note, no part of
the record: if it is lost, the bundled embedder and the one of the settings are still known. A server that the settings
no longer name is not asked any more: it would be sent what is said.
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
"""Takes a line for the person who uses the memory."""
_Notes = dict[str, EmbedderSettings]
_WAY_OUT = "run `halo-weave memory reembed` to compute vectors with the embedder in the settings"


class EmbedderChoice:
    def __init__(self, settings: EmbedderSettings, notes_file: Path, notice: Notice) -> None:
        self._settings = settings
        self._notes_file = notes_file
        self._notice = notice

    def use(self, settings: EmbedderSettings) -> None:
        """Go by other settings; the embedder of the vectors serves until they are made again."""
        self._settings = settings

    def named_by_settings(self) -> Embedder:
        embedder = open_embedder(self._settings, self._notice)
        self._note(embedder.name, self._settings)
        return embedder

    def of_vectors(self, name: str | None) -> Embedder:
        """The embedder of this name, or that of the settings if there are no vectors yet.

        EmbedderError if it cannot be opened.
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
        # Keys and passwords are not written down; the present ones count for the same server only.
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
