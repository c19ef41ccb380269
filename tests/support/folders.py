"""The folders of the project and its tests, and the commands of worker programs."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PROJECT = TESTS.parent
DATA = TESTS / "support" / "data"


def worker_command(name: str, *arguments: object) -> list[str]:
    """Return the command for a program in `support/workers`; run it in `TESTS`, where it can import `support`."""
    return [sys.executable, "-m", f"support.workers.{name}", *map(str, arguments)]
