"""Runs the jq library in a child process, where a filter can neither see nor harm anything but its input.

The process has an empty environment. It may not open files or start processes, and it may use at most 256 MB. A filter
that takes longer than 2 s is killed. On macOS the memory limit has no effect. On Windows only the time limit applies,
and access to files is blocked only within the jq language.
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
    """The results of a filter exceed the requested limit."""


class JqProcess:
    """Thread-safe; calls run one at a time. The process starts on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: ChildProcess | None = None

    def run(self, filter_text: str, text: str, *, most_bytes: int = MOST_ANSWERED_BYTES) -> list[str]:
        """Run a filter on a JSON text and return its results as JSON texts. InputError says why there are none."""
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
    # -I -S: ignore the user's Python settings and skip the search for packages. Windows needs SYSTEMROOT to start.
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
    """Locate the library without importing it: jq never runs in this process."""
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
