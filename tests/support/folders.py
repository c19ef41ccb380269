"""Where things are: the project, its tests, and the programs that tests start."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PROJECT = TESTS.parent
DATA = TESTS / "support" / "data"


def worker_command(name: str, *arguments: object) -> list[str]:
    """A program of `support/workers`; start it in the folder `TESTS`, so that it finds the rest of `support`."""
    return [sys.executable, "-m", f"support.workers.{name}", *map(str, arguments)]
