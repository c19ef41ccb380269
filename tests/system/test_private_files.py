"""Only its owner can read what was said, wherever the program writes it."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_weave import paths
from halo_weave.terminal.chat.prompt import history
from support.servers.served import served

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are of another kind there")


@pytest.fixture(autouse=True)
def _open_to_all() -> Iterator[None]:
    """The default umask on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def readable_by_others(folder: Path) -> list[str]:
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_the_data_folder_and_everything_in_it_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr(paths, "data_folder", lambda _=None: home)
    with served(home) as one:
        window = one.new_window()
        one.post(f"/api/windows/{window}/capture", {"is_on": True})
        one.say(window, "Something that is nobody's business")
        one.post(f"/api/windows/{window}/capture", {"is_on": False})
        one.call("PUT", "/api/settings", {"generation.max_tokens": 9})
        history(home)
        assert (home / "halo.db-wal").exists()
        assert list((home / "captures").glob("*/*"))
        assert readable_by_others(home) == []


def test_a_folder_that_somebody_made_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with served(tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
        assert stat.S_IMODE((tmp_path / "halo.db").stat().st_mode) == 0o600
