"""Partial files of a dead process are removed; those of a running one stay."""

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.memory.files.partial import new_file, partial_file, sweep
from halo_weave.memory.sqlite.store import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files cannot be locked this way there")

DIES = """
import os, sys
from pathlib import Path
from halo_weave.memory.files.partial import partial_file
with partial_file(Path(sys.argv[1])) as path:
    path.write_text("half")
    path.with_name(path.name + "-wal").write_text("the other half")
    os._exit(0)
"""


def make_old(path: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))


def left_by_a_dead_process(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-c", DIES, str(folder)], check=True)
    (path,) = folder.glob(".*.part")
    make_old(path)
    return path


def test_opening_a_memory_sweeps_away_what_a_dead_process_was_making(tmp_path: Path) -> None:
    path = left_by_a_dead_process(tmp_path / "memory")
    with closing(SqliteStore(path.parent / "halo.db")):
        assert list(path.parent.glob(".halo-weave-*")) == []


def test_a_backup_sweeps_away_what_an_earlier_one_left(tmp_path: Path) -> None:
    path = left_by_a_dead_process(tmp_path / "backups")
    with closing(SqliteStore(tmp_path / "memory" / "halo.db")) as store:
        store.backup(path.parent / "backup.db")
    assert [file.name for file in path.parent.iterdir()] == ["backup.db"]


def test_what_somebody_is_making_stays_however_long_it_takes(tmp_path: Path) -> None:
    with partial_file(tmp_path) as one, new_file(tmp_path / "done") as two:
        for path in (one, two):
            make_old(path)
        sweep(tmp_path)
        assert one.exists()
        two.write_text("done")
    assert not one.exists()
    assert (tmp_path / "done").read_text() == "done"


def test_what_is_young_and_what_others_named_stays(tmp_path: Path) -> None:
    young, foreign = tmp_path / ".halo-weave-x.part", tmp_path / ".other.part"
    for path in (young, foreign):
        path.touch()
    make_old(foreign)
    sweep(tmp_path)
    assert young.exists()
    assert foreign.exists()


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    sweep(tmp_path / "nowhere")


def test_a_file_that_could_not_be_completed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "done"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
