"""The jq library in a process of its own, where a filter can neither see nor hurt anything but the text it is given.

The process has an empty environment and may open no file, start no process and take no more than 256 MB. Whatever
takes longer than 2 s is killed. On macOS the limit of memory does not hold; on Windows none but that of time does, and
jq's ways to files are closed in the language only.
"""

import importlib.util
import json
import os
import sys
import threading
from pathlib import Path

from halo_weave.errors import HaloError, InputError
from halo_weave.system.child_process import ChildProcess
from halo_weave.tools.jq.jq_child import LONGEST_S, MOST_BYTES

MOST_ANSWERED_BYTES = 64 * 1024
LONGEST_FILTER = 64 * 1024
_SHOWN_CHARACTERS = 300
_CHILD = Path(__file__).with_name("jq_child.py")


class JqTooLarge(InputError):
    """A filter gives more than was asked for."""


class JqProcess:
    """May be used from several threads; one is served after the other. The process starts when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: ChildProcess | None = None

    def run(self, filter_text: str, text: str, *, most_bytes: int = MOST_ANSWERED_BYTES) -> list[str]:
        """The results of a filter on a JSON text, as JSON texts; InputError says why there are none."""
        _require_filter(filter_text)
        request = json.dumps([filter_text, text, most_bytes]).encode() + b"\n"
        with self._lock:
            if self._child is not None and not self._child.is_sound:
                self._end()
            if self._child is None:
                self._child = _start()
            try:
                answer = _answer(self._child, request)
            finally:
                if not self._child.is_sound:
                    self._end()
        return _results(answer, most_bytes)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def _start() -> ChildProcess:
    # -I -S: nothing of the person's own Python, and no search for packages. Windows needs its root to start at all.
    command = [sys.executable, "-I", "-S", str(_CHILD), _library_folder()]
    return ChildProcess("jq", command, {name: os.environ[name] for name in os.environ if name.upper() == "SYSTEMROOT"})


def _answer(child: ChildProcess, request: bytes) -> bytes:
    answer = child.ask(request, LONGEST_S)
    if answer is not None:
        return answer
    if child.is_stopped:
        raise InputError(f"The filter took longer than {LONGEST_S:g} s and was stopped.")
    raise InputError(f"The filter crashed jq; most likely it needed more than {MOST_BYTES // 2**20} MB.")


def _library_folder() -> str:
    """Found, not imported: jq never works in this process."""
    found = importlib.util.find_spec("jq")
    if found is None or found.origin is None:
        raise HaloError("jq cannot start: the package jq is not installed.")
    return str(Path(found.origin).parent)


def _require_filter(text: str) -> None:
    if len(text) > LONGEST_FILTER:
        raise InputError(f"The filter has {len(text):,} characters; the limit is {LONGEST_FILTER:,}.")
    if "\0" in text:
        raise InputError("The filter contains a NUL character, which jq cannot read.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("The filter contains an unpaired surrogate, which jq cannot read.") from None


def _results(answer: bytes, most_bytes: int) -> list[str]:
    said = json.loads(answer)
    if "too_large" in said:
        raise JqTooLarge(f"The result has more than {most_bytes // 1024} KB; ask for less.")
    if "error" in said:
        words = " ".join(str(said["error"]).split())
        raise InputError(f"jq reports: {_short(words) or 'error'}.")
    results: list[str] = said["results"]
    return results


def _short(words: str) -> str:
    return words if len(words) <= _SHOWN_CHARACTERS else words[: _SHOWN_CHARACTERS - 1] + "…"
