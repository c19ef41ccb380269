"""Files that are each created for one download. A link cannot be guessed, works once, and expires after a minute.

The files have no name on disk, so nothing is left behind however a download or the program ends.
"""

import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from halo_weave.memory.files.partial import nameless_file
from halo_weave.server.http_errors import NotFound

LINK_VALID_S = 60.0
_MOST_OFFERS = 4
"""Each file may be as large as the memory; beyond this number the oldest is dropped."""
_BLOCK_BYTES = 256 * 1024


class Download(NamedTuple):
    """A file that is sent and then closed."""

    file: BinaryIO
    name: str
    media_type: str

    @property
    def size_bytes(self) -> int:
        return os.fstat(self.file.fileno()).st_size


class _Offer(NamedTuple):
    download: Download
    ending: threading.Timer

    def end(self) -> None:
        self.ending.cancel()
        self.download.file.close()


class Downloads:
    """Creates the files in `folder`. Thread-safe."""

    def __init__(self, folder: Path, *, link_valid_s: float = LINK_VALID_S) -> None:
        self._folder = folder
        self._link_valid_s = link_valid_s
        self._offers: dict[str, _Offer] = {}
        self._lock = threading.Lock()

    def make(self, write: Callable[[Path], object], name: str, media_type: str) -> Download:
        """A download of the file that `write` creates at the path it receives."""
        return Download(nameless_file(self._folder, write), name, media_type)

    def offer(self, download: Download) -> str:
        """Offer a download; returns the secret part of its link."""
        secret = secrets.token_urlsafe(32)
        ending = threading.Timer(self._link_valid_s, self._end, [secret])
        ending.daemon = True
        with self._lock:
            while len(self._offers) >= _MOST_OFFERS:
                self._offers.pop(next(iter(self._offers))).end()
            self._offers[secret] = _Offer(download, ending)
            ending.start()
        return secret

    def take(self, secret: str) -> Download:
        with self._lock:
            offer = self._offers.pop(secret, None)
        if offer is None:
            raise NotFound("This link has been used or has expired after a minute; request the download again.")
        offer.ending.cancel()
        return offer.download

    def close(self) -> None:
        with self._lock:
            while self._offers:
                self._offers.popitem()[1].end()

    def _end(self, secret: str) -> None:
        with self._lock:
            if (offer := self._offers.pop(secret, None)) is not None:
                offer.end()


class DownloadResponse(StreamingResponse):
    """Reads each block only after the previous one was sent; a disconnect ends it."""

    def __init__(self, download: Download) -> None:
        self._file = download.file
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{download.name}"',
            "Content-Length": str(download.size_bytes),
        }
        blocks = iter(lambda: download.file.read(_BLOCK_BYTES), b"")
        super().__init__(blocks, headers=headers, media_type=download.media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()
