"""The program of the process in which jq works, started by `jq_process` with a path to the folder of the library.

It imports nothing of this package, so that it starts at once. A request is a line of JSON, an array of the filter, the
text to work on and the most bytes to answer; the answer is a line too: `{"results": […]}` with JSON texts,
`{"error": …}` with jq's own words, or `{"too_large": true}`. Before the first request it gives up what it may do; with
whoever started it, it ends.
"""

import json
import os
import signal
import sys
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
LONGEST_S = 2.0
ENDS_BY_ITSELF_S = 3.0
"""After which a request is over even if nobody is left to stop it."""
READY = b"ready\n"

# Whatever stands before it, `import` and `include` are no jq any more: both read files. So does `modulemeta`.
_BEFORE = 'def modulemeta: error("there are no modules here");def input: error("there is nothing more to read");'
# A comment may end in a backslash, with which it goes on in the next line.
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
        jq.compile(_BEFORE + filter_text)  # alone, so that it cannot close the parenthesis
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
    """The places that jq names are those in the text with ours before it."""
    return words.removeprefix("jq: error: ").partition(" at <top-level>")[0].partition("\n")[0]


def _set_alarm(seconds: float) -> None:
    """The alarm is not handled: it ends the process, also in the middle of jq's own code."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _give_up_rights() -> None:
    os.environ.clear()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it, and may mean something else there
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
