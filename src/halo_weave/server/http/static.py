"""The page's files, read once. Their URLs contain a digest of all files, so that browsers may cache them forever."""

import hashlib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from halo_weave import __version__

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
    "webp": "image/webp",
    "woff2": "font/woff2",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_INDEX = "index.html"


class StaticFile(NamedTuple):
    content: bytes
    media_type: str


class StaticFiles:
    def __init__(self) -> None:
        self._files = dict(_files(resources.files("halo_weave") / "web"))
        self.digest = _digest(self._files)
        self._index = self._filled(_INDEX)

    def routes(self) -> list[Route]:
        return [
            Route("/", self._page),
            Route("/favicon.ico", self._icon),
            Route("/static/{digest}/{path:path}", self._file),
        ]

    async def _page(self, _: Request) -> Response:
        return Response(self._index, media_type=_TYPES["html"], headers={"Cache-Control": "no-cache"})

    async def _icon(self, _: Request) -> Response:
        icon = self._files.get("icon.svg")
        return Response(status_code=204) if icon is None else Response(icon.content, media_type=icon.media_type)

    async def _file(self, request: Request) -> Response:
        # A lookup by known names, so that a path cannot lead anywhere else.
        file = self._files.get(request.path_params["path"])
        if file is None:
            return Response("File not found.", 404, media_type="text/plain")
        is_present = request.path_params["digest"] == self.digest
        headers = {"Cache-Control": _FOR_EVER if is_present else "no-store"}
        return Response(file.content, media_type=file.media_type, headers=headers)

    def _filled(self, name: str) -> bytes:
        file = self._files.get(name)
        if file is None:
            return b"<!doctype html><title>Halo Weave</title><p>The page's files are missing; reinstall it."
        static = f"/static/{self.digest}"
        # A browser finds out what a module imports only after it has read it; this way it asks for all of them at once.
        modules = (f'<link rel="modulepreload" href="{static}/{one}">' for one in self._files if one.endswith(".js"))
        text = file.content.decode()
        values = {"static": static, "digest": self.digest, "version": __version__, "modules": "\n".join(modules)}
        for placeholder, value in values.items():
            text = text.replace("{{" + placeholder + "}}", value)
        return text.encode()


def _files(folder: Traversable, prefix: str = "") -> list[tuple[str, StaticFile]]:
    found: list[tuple[str, StaticFile]] = []
    if not folder.is_dir():
        return found
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name.startswith((".", "__")):
            continue
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        elif (kind := _TYPES.get(entry.name.rpartition(".")[2])) is not None:
            found.append((prefix + entry.name, StaticFile(entry.read_bytes(), kind)))
    return found


def _digest(files: dict[str, StaticFile]) -> str:
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(file.content).digest())
    return digest.hexdigest()[:16]
