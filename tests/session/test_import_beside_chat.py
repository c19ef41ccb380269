"""An import lets others write while it runs, and is applied completely or not at all."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.transfer import Imported, Progress, export_memory, import_file
from support.folders import TESTS, worker_command
from support.made_up_chunks import made_up_chunk
from support.windows import PLAIN, opened_hub

CHUNKS = 600
FAR = 1_000_000
PATIENCE_S = 60.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An export of chunks whose numbers are far from those of a new memory."""
    path = tmp_path / "export.jsonl"
    with closing(SqliteStore(tmp_path / "exported.db")) as store:
        store.advance(next_turn=FAR + CHUNKS, next_position=FAR + 10 * CHUNKS)
        store.write_chunks([made_up_chunk(FAR + number, first=FAR + 10 * number) for number in range(CHUNKS)])
        export_memory(store, path)
    return path


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", settings=PLAIN) as hub:
        yield hub


def test_a_whole_turn_passes_while_an_import_is_in_its_middle(hub: Hub, file: Path) -> None:
    window = hub.open("river")
    memory, store = window.memory, window.memory.store
    is_in_middle, may_go_on, outcome = threading.Event(), threading.Event(), list[Imported]()

    def hold(progress: Progress) -> None:
        if progress.step == "writing" and progress.done >= CHUNKS // 3:
            is_in_middle.set()
            assert may_go_on.wait(PATIENCE_S)

    thread = threading.Thread(target=lambda: outcome.append(import_file(store, file, progress=hold)), daemon=True)
    thread.start()
    try:
        assert is_in_middle.wait(PATIENCE_S)
        turn = threading.Thread(target=lambda: send(window, "The river is long."), daemon=True)
        turn.start()
        turn.join(PATIENCE_S)
        assert not turn.is_alive()
        assert store.stats().chunks == 2
        assert [hit.chunk.key.turn for hit in memory.search("river")][:1] == [1]
        assert store.chunks_from(FAR, 1) == []
        assert store.search_words(["sea"], 5) == []
    finally:
        may_go_on.set()
        thread.join()
    assert outcome[0].added == CHUNKS
    assert store.stats().chunks == 2 + CHUNKS
    assert store.verify() == []
    send(window, "And now it reaches the sea.")
    assert store.search_words(["sea"], 5)


@pytest.mark.parametrize("mode", ["setting-aside", "writing"])
def test_an_import_that_is_killed_in_its_middle_leaves_nothing_of_it(tmp_path: Path, file: Path, mode: str) -> None:
    path = tmp_path / "halo.db"
    with closing(SqliteStore(path)) as store:
        reservation = store.reserve(10)
        store.write_chunks([made_up_chunk(reservation.turn_user, first=reservation.position_start)])
        before = store.stats()
    worker = subprocess.Popen(
        worker_command("import_worker", mode, path, file),
        cwd=TESTS,
        stdout=subprocess.PIPE,
        text=True,
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "in the middle\n"
        worker.kill()
    with closing(SqliteStore(path)) as store:
        assert store.verify() == []
        after = store.stats()
        assert (after.chunks, after.next_turn, after.next_position, after.change_number) == (
            before.chunks,
            before.next_turn,
            before.next_position,
            before.change_number,
        )
        assert import_file(store, file).added == CHUNKS
        assert store.verify() == []
