"""The program of the process in which Markdown is rendered, started by `rendering`.

A request is a line of JSON, the text; the answer is a line too: its HTML, or null if it cannot be rendered. What takes
too much of the processor's time ends the process.
"""

import json
import signal
import sys
from contextlib import suppress

from halo_weave.server.rendering.markdown import rendered
from halo_weave.system.child_process import READY

LONGEST_S = 2.0
"""Of the processor's time for a text, so that it does not count what else the machine does."""
MOST_BYTES = 1024**3


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    _limit_memory()
    answers = sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    while line := sys.stdin.buffer.readline():
        _set_alarm(LONGEST_S)
        html = _html(json.loads(line))
        _set_alarm(0)
        answers.write(json.dumps(html).encode() + b"\n")
        answers.flush()


def _html(text: str) -> str | None:
    try:
        return rendered(text)
    except Exception:  # whatever others' code may do with a hostile text
        return None


def _set_alarm(seconds: float) -> None:
    """The alarm is not handled: it ends the process, also in the middle of a regular expression."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _limit_memory() -> None:
    with suppress(ImportError, AttributeError, ValueError, OSError):  # not every system knows the limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


if __name__ == "__main__":
    main()
