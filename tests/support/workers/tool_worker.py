"""A process whose model calls a tool and keeps writing until it is killed; it reports what it shows."""

import json
import sys
from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.session.turn.turn import send
from halo_weave.session.window.events import Event
from support.tool_windows import hub_with_tools, tools

WINDOW = "main"
CALL = "<tool>jq '.scratch.n += 1' notes.json > output</tool>"
SETTINGS = tools(rounds=50)
REPLIES = [f"Number {number} is noted with {CALL}" for number in range(50)]


def show(event: Event) -> None:
    if event.kind in ("written", "tool"):
        pieces = [piece for chunk in event.data["chunks"] for piece in chunk["pieces"]]
        sys.stdout.write(json.dumps([event.kind, "".join(pieces)]) + "\n")
        sys.stdout.flush()


def main(path: Path) -> None:
    with hub_with_tools(path, settings=SETTINGS, engine=EchoEngine(REPLIES, step_seconds=0.002)) as hub:
        window = hub.open(WINDOW)
        window.log.listen(show)
        send(window, "Count.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
