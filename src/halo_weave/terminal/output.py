"""Writing to the terminal: answers to stdout, words about them to stderr."""

import io
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write(text: str) -> None:
    """Text to stdout, at once. A terminal gets no control characters."""
    write_styled(harmless(text) if sys.stdout.isatty() else text)


def write_styled(text: str) -> None:
    """The same with control characters; whatever a model or a person wrote has to be `harmless`."""
    sys.stdout.write(text)
    sys.stdout.flush()


def harmless(text: str) -> str:
    """Text without the control characters with which it could steer a terminal; tabs and line feeds stay."""
    return _CONTROL.sub("", text)


def write_line(text: str = "") -> None:
    write(f"{text}\n")


def write_marked(text: str) -> None:
    """A line that neither the person nor the model said."""
    write_styled(f"\x1b[36m{harmless(text)}\x1b[0m\n" if has_styles(sys.stdout, os.environ) else f"{text}\n")


def notice(text: str) -> None:
    """A line beside the conversation, dim where the terminal can show it so."""
    text = harmless(text) if sys.stderr.isatty() else text
    sys.stderr.write(f"\x1b[2m{text}\x1b[0m\n" if has_styles(sys.stderr, os.environ) else f"{text}\n")
    sys.stderr.flush()


def has_styles(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """NO_COLOR (https://no-color.org) counts when it is set and not empty."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def survive_any_encoding() -> None:
    """Signs that the terminal's encoding cannot carry are replaced instead of ending the program."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(io.UnsupportedOperation):  # it was read from already
                reconfigure(errors="replace")
