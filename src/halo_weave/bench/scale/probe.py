"""A separate process for figures that need one: opening, memory use, and reserving in parallel with others.

It reads a task as a line of JSON and answers with its figures as another.
"""

import sys
import time


def main() -> None:
    started = time.perf_counter()
    # Imported here to measure how long the import takes.
    from halo_weave.bench.scale.tasks import run_task

    import_s = time.perf_counter() - started
    sys.stdout.buffer.write(run_task(sys.stdin.buffer, sys.stdout.buffer, import_s) + b"\n")


if __name__ == "__main__":
    main()
