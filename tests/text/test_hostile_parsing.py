"""Untrusted text is parsed in linear, not quadratic, time."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Placed
from halo_weave.memory.sqlite import wishes
from halo_weave.memory.sqlite.store import SqliteStore
from support.folders import TESTS, worker_command
from support.made_up_chunks import written_texts

_SECONDS = 240
"""CPU seconds; about ten are needed, but a single non-linear pattern takes hours."""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits on Windows")
def test_no_text_holds_up_a_parser() -> None:
    command = worker_command("hostile_parsing", _SECONDS)
    ended = subprocess.run(command, cwd=TESTS, capture_output=True, text=True)
    assert ended.returncode == 0, f"Ended at {ended.stdout.split()[-1:]}: {ended.stderr[-2000:]}"


def test_a_text_is_read_for_wishes_before_others_have_to_wait_for_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "halo.db", []

    def is_wish(text: str) -> bool:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
        read.append(text)
        return True

    monkeypatch.setattr(wishes, "is_wish", is_wish)
    with closing(SqliteStore(path)) as store:
        ids = written_texts(store, "Always answer in French.", "Never mind.")
        assert store.wishes(9) == ids[::-1]
    assert read == ["Always answer in French.", "Never mind."]


class _Counted(int):
    hashed = 0

    def __hash__(self) -> int:
        _Counted.hashed += 1
        return super().__hash__()


def test_the_echo_engine_looks_at_each_removed_token_once() -> None:
    tokens = [Placed(_Counted(place), 300) for place in range(1000)]
    context = EchoEngine().open_context(attention=None)
    context.sync(tokens)
    _Counted.hashed = 0
    report = context.sync(tokens[500:])
    assert report.removed == 500
    assert _Counted.hashed < 10 * len(tokens)
