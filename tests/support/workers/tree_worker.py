"""A process that increments a number saved at one tree path, each time based on the version it has read.

It reports each version once it is acknowledged.
"""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from halo_weave.errors import StoreConflict
from halo_weave.memory.memory import open_memory
from halo_weave.tools.tree.tree import MemoryTree
from support.folders import TESTS, worker_command

PATH = "Counts/Shared"


def start_worker(memory: Path, times: int) -> subprocess.Popen[str]:
    """Start a worker; the caller ends and closes it."""
    command = worker_command("tree_worker", memory, times)
    return subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True)


def run_workers(memory: Path, *, workers: int, times: int) -> None:
    """Run `workers` processes at once, each incrementing `times` times, and wait for all of them."""
    started = [start_worker(memory, times) for _ in range(workers)]
    for worker in started:
        worker.communicate()
        assert worker.returncode == 0


def count_up(tree: MemoryTree) -> int:
    while True:
        entry = tree.query(PATH)
        try:
            saved = tree.save(PATH, entry.content + 1, 0, origin="worker", expected_version=entry.version)
            return saved.version
        except StoreConflict:
            continue


def main(path: Path, times: int) -> None:
    with closing(open_memory(path)) as memory:
        for _ in range(times):
            sys.stdout.write(f"{count_up(MemoryTree(memory))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
