"""Uploaded files are private, removed after use, and swept up if their process died."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from halo_weave.server.runtime.temporary_files import TemporaryFiles
from support.servers.raw_http import connected
from support.servers.served import served, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files cannot be locked this way there")

DIES = """
import os, sys
from pathlib import Path
from halo_weave.server.runtime.temporary_files import TemporaryFiles
TemporaryFiles(Path(sys.argv[1])).new_file(".part").write_text("half")
os._exit(0)
"""


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]


def test_what_a_dead_process_left_is_swept_at_the_next_start(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=True)
    assert files(tmp_path)
    TemporaryFiles(tmp_path).close()
    assert files(tmp_path) == []


def test_files_of_a_process_that_runs_are_not_swept(tmp_path: Path) -> None:
    first = TemporaryFiles(tmp_path)
    path = first.new_file(".part")
    TemporaryFiles(tmp_path).close()
    assert path.exists()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    first.close()
    assert not path.exists()


def test_an_upload_is_kept_beside_the_memory_and_is_gone_when_its_sender_goes(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        place = tmp_path / "halo.db-temporary"
        with connected(one.address) as connection:
            connection.sendall(
                b"POST /api/import HTTP/1.1\r\nHost: localhost\r\nX-Halo: 1\r\nContent-Length: 100\r\n\r\nhalf"
            )
            until(lambda: place.exists() and files(place))
        until(lambda: files(place) == [])
