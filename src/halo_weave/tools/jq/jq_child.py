"""The program of the child process that runs jq, started by `process` with the path of the library's folder.

It imports nothing from this package, so it starts fast. A request is one line of JSON: an array of the filter, the
input text and the maximum size of the results in bytes. The answer is also one line: `{"results": […]}` with JSON
texts, `{"error": …}` with jq's message, or `{"too_large": true}`. The process gives up its rights before the first
request, and it exits when its parent does.
"""

import json
import os
import signal
import sys
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
LONGEST_S = 2.0
ENDS_BY_ITSELF_S = 3.0
"""Limit after which a request ends even if the parent is no longer there to stop it."""
READY = b"ready\n"

# After a definition, `import` and `include`, which read files, are syntax errors. `modulemeta` reads files too.
_BEFORE = 'def modulemeta: error("there are no modules here");def input: error("there is nothing more to read");'
# Two newlines, because a comment that ends in a backslash continues on the next line.
_AS_TEXT = "\n\n) | tojson"


def main(library: str) -> None:
    sys.path.append(library)
    import jq

    _give_up_rights()
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    while line := requests.readline():
        _set_alarm(ENDS_BY_ITSELF_S)
        answers.write(json.dumps(_answer(jq, *json.loads(line))).encode() + b"\n")
        answers.flush()
        _set_alarm(0)


def _answer(jq: Any, filter_text: str, text: str, most_bytes: int) -> dict[str, Any]:
    try:
        jq.compile(_BEFORE + filter_text)  # compiled alone first, so it cannot close the parenthesis
        program = jq.compile(f"{_BEFORE}({filter_text}{_AS_TEXT}")
    except ValueError as error:
        return {"error": _without_place(str(error))}
    results = []
    try:
        for result in program.input_text(text):
            results.append(result)
            most_bytes -= len(result.encode())
            if most_bytes < 0:
                return {"too_large": True}
    except ValueError as error:
        return {"error": str(error)}
    return {"results": results}


def _without_place(words: str) -> str:
    """Drop the position from a message, because jq counts our prefix too."""
    return words.removeprefix("jq: error: ").partition(" at <top-level>")[0].partition("\n")[0]


def _set_alarm(seconds: float) -> None:
    """Set an alarm without a handler, so that it kills the process even inside jq's own code."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _give_up_rights() -> None:
    os.environ.clear()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the parent, which may handle it differently
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, most in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_NOFILE", 0),
        ("RLIMIT_AS", MOST_BYTES),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):  # not every system knows every limit
            continue


if __name__ == "__main__":
    main(sys.argv[1])
