"""Programs in a pseudo-terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_S = 120
PROMPT = r"\n>"

_LAUNCHER = """
import os, sys
terminal = os.open(sys.argv[1], os.O_RDWR)  # the first terminal that a new session opens becomes its own
for stream in (0, 1, 2):
    os.dup2(terminal, stream)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Terminal:
    """A program in a pseudo-terminal: a test can wait for its output and press keys."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._screen, inner = pty.openpty()
        termios.tcsetwinsize(self._screen, (50, 200))
        launcher = [sys.executable, "-c", _LAUNCHER, os.ttyname(inner), *command]
        self.process = subprocess.Popen(launcher, env=environ, start_new_session=True)
        self._inner: int | None = inner
        self.shown = ""
        self.raw = ""
        """The output with colours and all other control sequences."""

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def wait_for(self, pattern: str, *, after: int = 0) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.compile(pattern, re.DOTALL).search(self.shown, after)) is None:
            if not self._read(deadline - time.monotonic()):
                pytest.fail(f"{pattern!r} did not come; the terminal shows {self.shown[after:]!r}")
        return found

    def wait_for_end(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._let_go()
        os.close(self._screen)

    def _read(self, seconds: float) -> bool:
        """Read once; return False if nothing arrived or nothing can arrive any more."""
        if seconds <= 0 or not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._screen, 65_536)
        except OSError:  # Linux raises this when the program's side is closed
            return False
        self._let_go()
        text = data.decode("utf-8", "replace").replace("\r", "")
        self.raw += text
        self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        return bool(data)

    def _let_go(self) -> None:
        """Close our copy of the terminal once the program has it, so that the program's exit can be noticed."""
        if self._inner is not None:
            os.close(self._inner)
            self._inner = None


def environment(home: Path) -> dict[str, str]:
    """Return an environment with its own data in `home` and a shared cache, so the embedder is prepared only once."""
    cache = Path(os.environ["HALO_HOME"]) / "cache"
    cache.mkdir(exist_ok=True)
    if not (home / "cache").exists():
        (home / "cache").symlink_to(cache)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
    # The pseudo-terminal does not answer cursor position requests.
    return kept | {"HALO_HOME": str(home), "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}


def chat_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "halo_weave", "chat", "--temperature", "0", *arguments]


@contextmanager
def chat_terminal(home: Path, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal(chat_command(*arguments), environment(home))
    try:
        terminal.wait_for(rf"/quit to exit\..*{PROMPT}")
        yield terminal
    finally:
        terminal.close()
