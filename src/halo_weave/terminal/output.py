"""Terminal output: results to stdout, notices to stderr."""

import io
import os
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write(text: str) -> None:
    """Write text to stdout and flush. Control characters are removed if stdout is a terminal."""
    write_styled(harmless(text) if sys.stdout.isatty() else text)


def write_styled(text: str) -> None:
    """Write text with its control characters. Pass anything a model or a person wrote through `harmless` first."""
    sys.stdout.write(text)
    sys.stdout.flush()


def harmless(text: str) -> str:
    """Remove control characters that could steer a terminal; keep tabs and line feeds."""
    return _CONTROL.sub("", text)


def write_line(text: str = "") -> None:
    write(f"{text}\n")


def write_marked(text: str) -> None:
    """Write text that neither the person nor the model wrote, coloured if the terminal supports it."""
    write_styled(f"\x1b[36m{harmless(text)}\x1b[0m\n" if has_styles(sys.stdout, os.environ) else f"{text}\n")


def notice(text: str) -> None:
    """Write a line to stderr, dimmed if the terminal supports it."""
    text = harmless(text) if sys.stderr.isatty() else text
    sys.stderr.write(f"\x1b[2m{text}\x1b[0m\n" if has_styles(sys.stderr, os.environ) else f"{text}\n")
    sys.stderr.flush()


def write_transient(text: str) -> None:
    """Replace the present line on stderr, which must be a terminal; empty text leaves an empty line."""
    width = shutil.get_terminal_size().columns - 1
    sys.stderr.write(f"\r\x1b[K{harmless(text)[:width]}")
    sys.stderr.flush()


def has_styles(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether styles may be used. A non-empty NO_COLOR (https://no-color.org) turns them off."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def survive_any_encoding() -> None:
    """Replace characters that the stream's encoding cannot represent instead of crashing."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(io.UnsupportedOperation):  # the stream has already been read from
                reconfigure(errors="replace")
