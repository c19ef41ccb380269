"""A process that imports a file and is killed in the middle.

It writes a line to standard output and waits to be killed: with `setting-aside` while the chunks are set aside, with
`writing` when they are in a transaction that is not committed yet.
"""

import sys
import time
from pathlib import Path

from halo_weave.memory.sqlite.restoring import notes_and_tree
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.transfer import Progress, import_file


def wait_for_the_end() -> None:
    sys.stdout.write("in the middle\n")
    sys.stdout.flush()
    time.sleep(600)


def wait_when_half_is_done(progress: Progress) -> None:
    if progress.step == "writing" and progress.total and progress.done >= progress.total // 2:
        wait_for_the_end()


def main(mode: str, memory: Path, file: Path) -> None:
    store = SqliteStore(memory)
    if mode == "writing":
        notes_and_tree.restore = lambda *_: wait_for_the_end()  # type: ignore[assignment]
        import_file(store, file)
    import_file(store, file, progress=wait_when_half_is_done)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
