"""A process of its own for what can only be measured in one: opening, the memory it takes, and reserving beside others.

It takes a task as a line of JSON and answers with its figures as another.
"""

import sys
import time


def main() -> None:
    started = time.perf_counter()
    # Here, so that it can be said how long it takes.
    from halo_weave.bench.scale.tasks import run_task

    import_s = time.perf_counter() - started
    sys.stdout.buffer.write(run_task(sys.stdin.buffer, sys.stdout.buffer, import_s) + b"\n")


if __name__ == "__main__":
    main()
