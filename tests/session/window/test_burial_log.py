"""A window's burials behave as one list, whether saved yet or not."""

import tempfile
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import RLock

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.memory.memory import Memory, open_memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.windows import BurialGap, BurialRecord, WindowRecord
from halo_weave.session.turn.turn import send
from halo_weave.session.window.burial_log import BurialLog
from support.made_up_chunks import TIME, written_turn
from support.windows import PLAIN, WORDS_ALONE, opened_hub, weave, with_section

CHUNKS = 9
WHICH = st.integers(0, CHUNKS - 1)
STEPS = st.lists(
    st.tuples(st.just("bury"), WHICH, st.integers(0, 3))
    | st.tuples(st.sampled_from(["exhume", "delete"]), WHICH, st.just(0))
    | st.tuples(st.sampled_from(["save", "open again"]), st.just(0), st.just(0)),
    max_size=25,
)


class Model:
    """All burials in a plain dictionary."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self.chunks = {chunk.key: chunk for chunk in chunks}
        self.burial_log: dict[ChunkKey, BurialRecord] = {}
        self.deleted: set[ChunkKey] = set()

    def in_order(self) -> list[BurialRecord]:
        return sorted(self.burial_log.values(), key=lambda burial: burial.place, reverse=True)

    def gap(self, start: int, end: int) -> BurialGap | None:
        lying = sorted(self.burial_log.keys() - self.deleted, key=lambda key: self.chunks[key].first_position)
        keys = [key for key in lying if start < self.chunks[key].first_position < end]
        if not keys:
            return None
        times = [self.chunks[key].time for key in keys]
        newest = max((self.burial_log[key] for key in keys), key=lambda burial: burial.time)
        tokens = sum(self.chunks[key].token_count for key in keys)
        return BurialGap(len(keys), tokens, min(times), max(times), newest, tuple(keys[:3]))


def assert_same(graves: BurialLog, model: Model, living: list[int]) -> None:
    assert graves == model.burial_log
    assert len(graves) == len(model.burial_log)
    assert graves.among(model.chunks) == model.burial_log
    in_order, paged = model.in_order(), graves.page(None, 2)
    while more := graves.page(paged[-1].place, 2) if paged else []:
        paged += more
    assert paged == in_order
    assert graves.page(None, CHUNKS) == in_order
    bounds = [-1, *living, 10**9]
    assert graves.gaps(living, keys=3) == [model.gap(*pair) for pair in pairwise(bounds)]
    if not model.burial_log.keys() & model.deleted:  # the log learns of a deletion when the chunk leaves it
        tokens = sum(model.chunks[key].token_count for key in model.burial_log)
        assert graves.totals() == (len(model.burial_log), tokens)


def saved(memory: Memory, record: WindowRecord, graves: BurialLog) -> WindowRecord:
    buried, raised = graves.unsaved()
    version = memory.store.put_window(record, buried=buried, raised=raised)
    graves.note_saved()
    return msgspec.structs.replace(record, version=version)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, alive=st.sets(WHICH, max_size=4))
def test_graves_are_what_was_buried_and_not_raised_since(steps: list[tuple[str, int, int]], alive: set[int]) -> None:
    """By key, in pages and between living chunks, however much is saved."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_memory(Path(folder) / "halo.db", WORDS_ALONE)) as memory,
    ):
        chunks = [written_turn(memory.store, count=2 + place)[0] for place in range(CHUNKS)]
        model = Model(chunks)
        living = [chunk.first_position for place, chunk in enumerate(chunks) if place in alive]
        record = saved(memory, WindowRecord("w", "window", b"", 0, TIME), BurialLog(memory, "w", RLock()))
        graves = BurialLog(memory, "w", RLock())
        for step, which, minutes in steps:
            chunk = chunks[which]
            if step == "bury" and which not in alive:
                time = TIME + timedelta(minutes=minutes)
                burial = BurialRecord(chunk.key, chunk.first_position, float(minutes), f"{which} {minutes}", time)
                graves.bury(burial)
                model.burial_log[chunk.key] = burial
            elif step == "exhume":
                assert (chunk.key in graves.exhume([chunk.key])) == (model.burial_log.pop(chunk.key, None) is not None)
                # A resurrected chunk lives or is deleted.
                if which not in alive:
                    memory.store.delete([chunk.key], "test")
                    model.deleted.add(chunk.key)
            elif step == "delete" and which not in alive:
                memory.store.delete([chunk.key], "test")
                model.deleted.add(chunk.key)
            elif step in ("save", "open again"):
                record = saved(memory, record, graves)
                graves = BurialLog(memory, "w", RLock()) if step == "open again" else graves
            assert_same(graves, model, living)


def test_what_a_window_saves_does_not_grow_with_what_it_buried(tmp_path: Path) -> None:
    small = weave(with_section(PLAIN, "generation", max_tokens=60), budget_tokens=150)
    sizes = []
    with opened_hub(tmp_path / "halo.db", settings=small) as hub:
        window = hub.open("river")
        for _ in range(12):
            send(window, "Tell me of rivers.")
            (outline,) = window.memory.store.windows()
            sizes.append((outline.bytes, len(window.life.burial_log)))
    assert sizes[-1][1] > sizes[len(sizes) // 2][1] > 2
    assert sizes[-1][0] <= max(size for size, _ in sizes[: len(sizes) // 2]) + 100
