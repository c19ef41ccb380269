"""Renders Markdown in a child process, so that a text that takes too long is shown plain and cannot block for long.

The process starts when it is first needed, and again after a text has ended it.
"""

import json
import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from halo_weave.errors import HaloError
from halo_weave.server.rendering.blocks import Block
from halo_weave.server.rendering.plain_text import plain
from halo_weave.system.child_process import ChildProcess

_PROGRAM = ("-m", "halo_weave.server.rendering.child")
_LONGEST_S = 10.0
"""Time limit per text, for a busy machine or a system without the limit on CPU time."""
_LONGEST_REQUEST_S = 30.0
_MOST_REMEMBERED_BYTES = 32 * 1024 * 1024
_log = logging.getLogger(__name__)


class Rendering:
    """Thread-safe; serves one request at a time."""

    def __init__(self, program: Sequence[str] = _PROGRAM) -> None:
        """`program` is a list of arguments for Python."""
        self._command = [sys.executable, "-P", *program]
        self._lock = threading.Lock()
        self._child: ChildProcess | None = None
        self._remembered = _Remembered()
        self._is_closed = False

    def rendered(self, texts: Sequence[str]) -> list[list[Block]]:
        """The blocks of each text; texts that are not rendered before the request's deadline are shown plain."""
        deadline = time.monotonic() + _LONGEST_REQUEST_S
        with self._lock:
            return [self._one(text, deadline) for text in texts]

    def close(self) -> None:
        self._is_closed = True
        with self._lock:
            self._end()

    def _one(self, text: str, deadline: float) -> list[Block]:
        known = self._remembered.get(text)
        if known is not None:
            return known
        if self._is_closed or time.monotonic() > deadline:
            return _plain(text)
        blocks = self._asked(text)
        self._remembered.put(text, blocks)
        return blocks

    def _asked(self, text: str) -> list[Block]:
        try:
            child = self._sound_child()
        except HaloError as error:
            _log.error("Text is shown without Markdown: %s", error)
            return _plain(text)
        answer = child.ask(json.dumps(text).encode() + b"\n", _LONGEST_S)
        blocks = None if answer is None else msgspec.json.decode(answer, type=list[Block] | None)
        if blocks is None:
            _log.warning("Rendering a text of %d characters took too long; it is shown as plain text.", len(text))
            return _plain(text)
        return blocks

    def _sound_child(self) -> ChildProcess:
        if self._child is not None and not self._child.is_sound:
            self._end()
        if self._child is None:
            self._child = ChildProcess("The Markdown renderer", self._command, os.environ)
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class _Remembered:
    """A cache of the most recently used results, limited in bytes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, list[Block]] = OrderedDict()
        self._bytes = 0

    def get(self, text: str) -> list[Block] | None:
        if text in self._known:
            self._known.move_to_end(text)
        return self._known.get(text)

    def put(self, text: str, blocks: list[Block]) -> None:
        self._known[text] = blocks
        self._bytes += _size(text, blocks)
        while self._bytes > _MOST_REMEMBERED_BYTES:
            self._bytes -= _size(*self._known.popitem(last=False))


def _size(text: str, blocks: list[Block]) -> int:
    return sys.getsizeof(text) + sum(sys.getsizeof(block) + sys.getsizeof(block.html) for block in blocks)


def _plain(text: str) -> list[Block]:
    return [Block(0, plain(text))]
