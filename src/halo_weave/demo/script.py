"""Reads the script of the demo: conversations in several windows, with times that count back from today."""

import itertools
import re
from datetime import datetime, timedelta
from importlib.resources import files
from typing import NamedTuple

from halo_weave.errors import InputError

_FILE = "conversations.txt"
_SESSION = re.compile(r"# (\w+), (\d+) days ago, (\d{1,2}):(\d{2})")
_PACE = timedelta(minutes=2)
"""Time from one message of a session to the next."""


class Exchange(NamedTuple):
    window: str
    time: datetime
    message: str
    reply: str


def demo_exchanges(now: datetime) -> list[Exchange]:
    """Return the exchanges of the demo in order of time; `now` is a local time with its zone."""
    return read_script(files(__package__).joinpath(_FILE).read_text(encoding="utf-8"), now)


def read_script(text: str, now: datetime) -> list[Exchange]:
    """Read `# window, N days ago, HH:MM`, then messages, each line marked with >, and the reply below each of them."""
    exchanges: list[Exchange] = []
    window, time = "", now
    for block in re.split(r"\n(?=#|> )|\A(?=#|> )", f"\n{text}".replace("\n\n> ", "\n> ")):
        block = block.strip("\n")
        if session := _SESSION.fullmatch(block):
            window = session[1]
            time = (now - timedelta(days=int(session[2]))).replace(
                hour=int(session[3]), minute=int(session[4]), second=0, microsecond=0
            )
        elif block.startswith("> ") and window:
            message, _, reply = block.removeprefix("> ").partition("\n")
            if not reply.strip():
                raise InputError(f"The message {message[:40]!r} of the demo has no reply.")
            exchanges.append(Exchange(window, time, message, reply.strip()))
            time += _PACE
        elif block:
            raise InputError(f"The demo has a line in no conversation: {block[:40]!r}.")
    if any(before.time >= after.time for before, after in itertools.pairwise(exchanges)):
        raise InputError("The conversations of the demo are not in order of time.")
    return exchanges
