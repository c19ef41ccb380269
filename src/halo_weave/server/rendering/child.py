"""The child process that renders Markdown, started by `renderer`.

A request is a line of JSON with the text; the response is a line with its blocks, or null if rendering failed. A text
that takes too much CPU time ends the process.
"""

import json
import signal
import sys
from contextlib import suppress

import msgspec

from halo_weave.server.rendering.blocks import Block
from halo_weave.server.rendering.markdown import blocks_of
from halo_weave.system.child_process import READY

LONGEST_S = 2.0
"""CPU time per text, so that other load on the machine does not count."""
MOST_BYTES = 1024**3


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    _limit_memory()
    answers = sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    while line := sys.stdin.buffer.readline():
        _set_alarm(LONGEST_S)
        blocks = _blocks(json.loads(line))
        _set_alarm(0)
        answers.write(msgspec.json.encode(blocks) + b"\n")
        answers.flush()


def _blocks(text: str) -> list[Block] | None:
    try:
        return blocks_of(text)
    except Exception:  # a hostile text may trigger any error in third-party code
        return None


def _set_alarm(seconds: float) -> None:
    """The alarm has no handler: it ends the process, even in the middle of a regular expression."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _limit_memory() -> None:
    with suppress(ImportError, AttributeError, ValueError, OSError):  # not every system supports the limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


if __name__ == "__main__":
    main()
