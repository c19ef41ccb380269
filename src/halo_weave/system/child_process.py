"""A child process that answers each line with a line, and is killed when it takes too long.

It exits when its parent does, because its input ends. Until then it must limit its own work.
"""

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence

from halo_weave.errors import HaloError

READY = b"ready\n"
"""The line that the program writes once it accepts requests."""
_STARTS_WITHIN_S = 60.0


class ChildProcess:
    """For one thread at a time. `is_sound` while it accepts requests."""

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Raises HaloError if the process cannot start."""
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environ,
                cwd=os.sep,
            )
        except OSError as error:
            raise HaloError(f"{name} cannot start: {error.strerror}.") from error
        self.is_stopped = False
        self._is_working = False
        if self._said(b"", _STARTS_WITHIN_S) != READY:
            self.close()
            raise HaloError(f"{name} cannot start; check that Halo Weave is completely installed.")

    @property
    def is_sound(self) -> bool:
        return not self.is_stopped and not self._is_working and self._popen.poll() is None

    def ask(self, request: bytes, within_s: float) -> bytes | None:
        """Return the answer with its line end. None if the process exited, or was killed on timeout (`is_stopped`)."""
        self._is_working = True  # stays set if interrupted, because the late answer would be taken for the next one
        answer = self._said(request, within_s)
        if self.is_stopped or not answer.endswith(b"\n"):
            return None
        self._is_working = False
        return answer

    def close(self) -> None:
        self._popen.kill()
        for stream in (self._popen.stdin, self._popen.stdout):
            assert stream is not None
            try:
                stream.close()
            except OSError:  # unwritten data could not be flushed
                continue
        self._popen.wait()

    def _said(self, request: bytes, within_s: float) -> bytes:
        """Return the next line; empty if the process exited or was killed on timeout."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        timer = threading.Timer(within_s, self._stop)
        timer.daemon = True
        timer.start()
        try:
            self._popen.stdin.write(request)
            self._popen.stdin.flush()
            return self._popen.stdout.readline()
        except OSError:  # it exited before it had read everything
            return b""
        finally:
            timer.cancel()

    def _stop(self) -> None:
        self.is_stopped = True
        self._popen.kill()
