"""`halo-weave` in a separate process, started as a person would and ended by its id."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from halo_weave import paths
from support.servers.served import PATIENCE_S, until

ECHO = ("--set", "engine.kind=echo", "--no-browser")


class Process:
    def __init__(self, home: Path, *arguments: str) -> None:
        environ = {**os.environ, "HALO_HOME": str(home)}
        home.mkdir(parents=True, exist_ok=True)
        paths.cache_folder().mkdir(parents=True, exist_ok=True)
        if not (home / "cache").exists():  # all tests share one converted embedding model
            (home / "cache").symlink_to(paths.cache_folder())
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "halo_weave", *arguments], env=environ, stderr=subprocess.PIPE, text=True
        )
        assert self.popen.stderr is not None
        self.line = next((line for line in self.popen.stderr if line.startswith("Halo Weave is at")), "")
        found = re.search(r"(http://\S+?)/(\?token=(\S+))? ", self.line)
        assert found, "It did not start."
        self.address, self.token = found[1], found[3]
        self.http = httpx2.Client(base_url=self.address, headers={"X-Halo": "1"}, timeout=PATIENCE_S, trust_env=False)

    def call(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        response = self.http.request(method, path, json=body, **more)
        assert response.is_success, response.text
        return response.json()

    def wait_until_ready(self) -> None:
        until(lambda: self.http.get("/readyz").status_code == 200)

    def end(self, number: int = signal.SIGINT) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(PATIENCE_S)


@contextmanager
def running(home: Path, *arguments: str) -> Iterator[Process]:
    process = Process(home, *arguments)
    try:
        yield process
    finally:
        process.http.close()
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()
        assert process.popen.stderr is not None
        process.popen.stderr.close()
