"""A process that adds to the notes until it is done or killed, and reports each version once it is written."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.tools.jq.process import JqProcess
from halo_weave.tools.notes.notes import Notes
from support.folders import TESTS, worker_command


def start_worker(path: Path, name: str, patches: int) -> subprocess.Popen[str]:
    """Start a worker; the caller ends and closes it."""
    command = worker_command("notes_worker", path, name, patches)
    return subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main(path: Path, name: str, patches: int) -> None:
    with closing(SqliteStore(path)) as store, closing(JqProcess()) as jq:
        notes = Notes(store, jq)
        say("ready")
        sys.stdin.readline()
        for number in range(patches):
            change = notes.patch(f'.scratch.{name} = {number} | .reminders += ["{name} {number}"]', name)
            say([change.version, number])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
