"""A process that chats in a window until it is killed; it reports what it shows, with the time."""

import json
import subprocess
import sys
import time
from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.session.turn.turn import send
from halo_weave.session.window.events import Event
from support.folders import TESTS, worker_command
from support.windows import opened_hub, weave, with_section

WINDOW = "river"
SETTINGS = weave(with_section(weave(), "generation", max_tokens=5000), budget_tokens=400)
CONTEXT = 8000


def start_worker(path: Path) -> subprocess.Popen[str]:
    """Start a worker; the caller ends and closes it."""
    return subprocess.Popen(worker_command("window_worker", path), cwd=TESTS, stdout=subprocess.PIPE, text=True)


def show(event: Event) -> None:
    if event.kind in ("message", "token"):
        text = event.data["text"] if event.kind == "token" else ""
        position = event.data["position"] if event.kind == "token" else event.data["chunks"][0]["key"]["turn"]
        sys.stdout.write(json.dumps([time.monotonic(), event.kind, position, text]) + "\n")
        sys.stdout.flush()


def main(path: Path) -> None:
    engine = EchoEngine(["word and word again, " * 700], step_seconds=0.003, context_tokens=CONTEXT)
    with opened_hub(path, engine, SETTINGS) as hub:
        window = hub.open(WINDOW)
        window.log.listen(show)
        send(window, "Tell me a very long story.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
