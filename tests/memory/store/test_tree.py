"""The contract of every store: the memory tree, its versions, deletions and snapshots, and forgotten text."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import numpy as np
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk
from halo_weave.records.tree import SnapshotChunk, TreeEntry, TreeVersion
from support.made_up_chunks import TIME, written_turn
from support.store_factories import StoreFactory

EMBEDDER = "made-up"
LATER = TIME + timedelta(hours=1)


def copies(chunks: Sequence[Chunk]) -> list[SnapshotChunk]:
    return [SnapshotChunk(chunk, 1 / (place + 2)) for place, chunk in enumerate(chunks)]


def saved(
    store: Store, path: str, content: object = None, chunks: Sequence[Chunk] = (), expected: int | None = None
) -> int:
    text = msgspec.json.encode(content).decode()
    return store.put_tree_entry(path, text, copies(chunks), time=TIME, origin="test", expected_version=expected)


def visible(store: Store, path: str, version: int = 1) -> list[Chunk]:
    return [one.chunk for one in store.tree_snapshot(path, version)]


def searched(store: Store, root: str) -> list[Chunk]:
    """Return the chunks that a search considers, with and without vectors."""
    found = store.tree_vectors_under(root, EMBEDDER)
    chunks = store.tree_snapshot_chunks([*found.ids, *(number for _, number in found.others)])
    return [one.chunk for _, one in sorted(chunks.items())]


def paths(store: Store, root: str = "") -> list[str]:
    return [outline.path for outline in store.tree_outlines(root)]


def delete(store: Store, path: str, *, recursive: bool = False) -> list[str]:
    return store.delete_tree_entries(path, recursive=recursive, time=LATER, origin="test")


def test_an_entry_comes_back_as_it_was_saved(open_again: StoreFactory) -> None:
    store = open_again()
    chunks = written_turn(store, chunks=2)
    assert saved(store, "Ä/b", {"größe": [1, None]}, chunks) == 1
    store.close()
    store = open_again()
    assert store.tree_entry("Ä/b") == TreeEntry("Ä/b", 1, TIME, TIME, TIME, '{"größe":[1,null]}')
    found = store.tree_snapshot("Ä/b", 1)
    assert [one.chunk for one in found] == chunks
    assert [one.similarity for one in found] == [1 / 2, 1 / 3]
    assert found[1].tokens == chunks[1].tokens()
    assert store.verify() == []


def test_versions_are_counted_through_deletions_and_never_used_again(store: Store) -> None:
    assert [saved(store, "a", 1), saved(store, "a", 2)] == [1, 2]
    assert delete(store, "a") == ["a"]
    assert store.tree_entry("a") is None
    assert saved(store, "a", 3) == 4
    history = store.tree_history("a")
    assert [(one.version, one.is_deletion) for one in history] == [(4, False), (3, True), (2, False), (1, False)]
    assert [one.version for one in store.tree_history("a", before=3, limit=1)] == [2]
    assert store.tree_version("a", 2) == TreeVersion("a", 2, TIME, TIME, "test", "2")
    assert store.tree_version("a", 5) is None


def test_an_entry_is_as_old_as_its_first_version_since_it_was_not_there(store: Store) -> None:
    def save_at(hours: int) -> TreeEntry | None:
        store.put_tree_entry("a", "1", [], time=TIME + timedelta(hours=hours), origin="test")
        return store.tree_entry("a")

    save_at(0)
    changed = save_at(2)
    assert changed is not None
    assert (changed.created, changed.modified) == (TIME, TIME + timedelta(hours=2))
    delete(store, "a")
    anew = save_at(5)
    assert anew is not None
    assert anew.created == anew.modified == TIME + timedelta(hours=5)


def test_who_expects_another_version_gets_a_conflict_and_nothing_changes(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    saved(store, "a", 1, expected=0)
    saved(other, "a", 2, expected=1)
    for expected in (0, 1, 3):
        with pytest.raises(StoreConflict, match=r"The memory at 'a' is at version 2, .*nothing was changed"):
            saved(store, "a", 3, expected=expected)
    delete(other, "a")
    with pytest.raises(StoreConflict, match=r"does not exist, but was expected at version 2.*nothing was changed"):
        saved(store, "a", 3, expected=2)
    assert len(store.tree_history("a")) == 3
    assert saved(store, "a", 3, expected=0) == 4


def test_a_name_that_only_begins_alike_is_not_under_it(store: Store) -> None:
    for path in ("Goals", "Goals/x", "Goals/x/y", "Goals2", "Goals2/x", "Goals!", "Goals.", "Goals0"):
        saved(store, path, 1, written_turn(store))
    under = ["Goals/x", "Goals/x/y"]
    assert paths(store, "Goals") == ["Goals", *under]
    assert [entry.path for entry in store.tree_entries_under("Goals")] == under
    assert sorted(path for path, _ in store.tree_vectors_under("Goals", None).others) == under
    assert len(store.tree_entries_under("")) == len(paths(store)) == 8
    assert delete(store, "Goals", recursive=True) == ["Goals", *under]
    assert paths(store) == ["Goals!", "Goals.", "Goals0", "Goals2", "Goals2/x"]


def test_without_recursion_only_the_entry_itself_goes(store: Store) -> None:
    for path in ("a/b", "a/b/c"):
        saved(store, path)
    assert delete(store, "a") == []
    assert delete(store, "a/b") == ["a/b"]
    assert paths(store) == ["a/b/c"]
    assert delete(store, "a", recursive=True) == ["a/b/c"]


def test_a_deletion_is_taken_back_with_its_snapshot_all_or_none(store: Store) -> None:
    chunks = written_turn(store)
    saved(store, "a", 1, chunks)
    saved(store, "a/b", 2)
    gone = delete(store, "a", recursive=True)
    with pytest.raises(InputError, match="There has never been a memory at 'c'; nothing was changed"):
        store.undelete_tree_entries([*gone, "c"], time=LATER, origin="test")
    assert paths(store) == []
    assert store.undelete_tree_entries(gone, time=LATER, origin="test") == [3, 3]
    entry = store.tree_entry("a")
    assert entry == TreeEntry("a", 3, TIME, LATER, LATER, "1")
    assert visible(store, "a", 3) == chunks
    with pytest.raises(StoreConflict, match="'a' is not deleted: it has version 3; nothing was changed"):
        store.undelete_tree_entries(["a"], time=LATER, origin="test")


def test_an_earlier_version_is_restored_as_a_new_one(store: Store) -> None:
    chunks = written_turn(store, chunks=2)
    saved(store, "a", 1, chunks)
    saved(store, "a", 2)
    assert store.restore_tree_entry("a", 1, time=LATER, origin="other", expected_version=2) == 3
    assert store.tree_version("a", 3) == TreeVersion("a", 3, TIME, LATER, "other", "1")
    assert visible(store, "a", 3) == visible(store, "a", 1) == chunks
    with pytest.raises(StoreConflict, match="at version 3"):
        store.restore_tree_entry("a", 1, time=LATER, origin="other", expected_version=2)
    delete(store, "a")
    for version, what in ((4, "is its deletion"), (9, "does not exist")):
        with pytest.raises(InputError, match=f"Version {version} of the memory at 'a' {what}; nothing was changed"):
            store.restore_tree_entry("a", version, time=LATER, origin="other")
    assert store.restore_tree_entry("a", 2, time=LATER, origin="other") == 5


def test_when_it_was_read_is_noted_and_is_no_version(store: Store) -> None:
    saved(store, "a")
    store.touch_tree_entry("a", LATER)
    store.touch_tree_entry("nothing", LATER)
    entry = store.tree_entry("a")
    assert entry is not None
    assert (entry.version, entry.modified, entry.accessed) == (1, TIME, LATER)
    assert store.verify() == []


def test_a_snapshot_outlives_a_merge_of_its_sources(store: Store) -> None:
    chunks = written_turn(store, chunks=3)
    saved(store, "a", 1, chunks)
    store.merge(chunks[1].key, chunks[2].key, "test")
    store.merge(chunks[0].key, chunks[1].key, "test")
    assert visible(store, "a") == chunks


def test_a_deleted_source_is_hidden_until_it_is_undeleted(store: Store) -> None:
    first, second = written_turn(store, chunks=2)
    saved(store, "a/b", 1, [first, second])
    store.delete([second.key], "test")
    assert visible(store, "a/b") == [first]
    assert searched(store, "a") == [first]
    delete(store, "a/b")
    store.undelete_tree_entries(["a/b"], time=LATER, origin="test")
    store.undelete([second.key], "test")
    assert visible(store, "a/b", 3) == visible(store, "a/b", 1) == [first, second]


def test_whoever_has_the_positions_now_decides_what_is_hidden_and_forgotten(store: Store) -> None:
    left, right, other = written_turn(store, chunks=3)
    saved(store, "before", 1, [left, right, other])
    merged = store.merge(left.key, right.key, "test").chunk
    saved(store, "after", 1, [merged])
    store.delete([left.key], "test")
    assert (visible(store, "before"), visible(store, "after")) == ([other], [])
    assert searched(store, "") == [other]
    store.forget([left.key], "test")
    assert (visible(store, "before"), visible(store, "after")) == ([other], [])
    assert store.tree_entry("after") is not None
    assert store.verify() == []


def test_a_copy_over_several_chunks_goes_with_any_of_them(store: Store) -> None:
    """As when it was merged in another memory and imported into one where it was not."""
    left, right = written_turn(store, chunks=2)
    whole = Chunk.of_tokens(
        left.key, left.tokens() + right.tokens(), first_position=left.first_position, time=left.time
    )
    saved(store, "a", 1, [whole])
    for key in (left.key, right.key):
        assert visible(store, "a") == searched(store, "") == [whole]
        store.delete([key], "test")
        assert visible(store, "a") == searched(store, "") == []
        store.undelete([key], "test")
    store.delete([right.key], "test")
    store.forget([right.key], "test")
    assert visible(store, "a") == []
    assert store.verify() == []


def test_what_was_forgotten_while_somebody_chose_it_is_left_out(store: Store) -> None:
    first, second = written_turn(store, chunks=2)
    store.delete([first.key], "test")
    store.forget([first.key], "test")
    saved(store, "a", 1, [first, second])
    assert visible(store, "a") == [second]
    assert store.verify() == []


def test_vectors_are_put_into_what_is_still_there(store: Store) -> None:
    chunks = written_turn(store, chunks=2)
    saved(store, "a", 1, chunks)
    kept, gone = store.tree_snapshot("a", 1)
    assert (kept.embedder, kept.vector) == (None, None)
    store.delete([gone.key], "test")
    store.forget([gone.key], "test")
    vector = np.array([0.25, -1.5], dtype=np.float32)
    store.put_tree_vectors("made-up", {kept.id: vector, gone.id: vector, 10**9: vector})
    (again,) = store.tree_snapshot("a", 1)
    assert again.embedder == "made-up"
    assert again.vector is not None
    assert again.vector.tolist() == vector.tolist()
    found = store.tree_vectors_under("", "made-up")
    assert (found.paths, found.ids, found.vectors.tolist(), found.others) == (["a"], [kept.id], [vector.tolist()], [])
    assert store.tree_vectors_under("", "another").others == [("a", kept.id)]
    with pytest.raises(InputError, match="not an array of numbers; nothing was changed"):
        store.put_tree_vectors("made-up", {kept.id: np.array([np.nan], dtype=np.float32)})
    assert store.verify() == []


def test_a_vector_is_left_out_if_its_chunk_changed_since_it_was_read(store: Store) -> None:
    still, changed = written_turn(store, chunks=2)
    as_of = store.change_number()
    vector = np.ones(2, dtype=np.float32)
    snapshot = [SnapshotChunk(chunk, 0.5, EMBEDDER, vector) for chunk in (still, changed)]
    ids = [stored.id for stored in store.chunks_of_turn(still.key.turn)]
    store.outdate_vectors(ids[1:])
    store.put_tree_entry("a", "1", snapshot, time=TIME, origin="test", as_of=as_of)
    assert [one.embedder for one in store.tree_snapshot("a", 1)] == [EMBEDDER, None]
    store.outdate_vectors(ids)
    assert [one.vector for one in store.tree_snapshot("a", 1)] == [None, None]
    assert store.verify() == []


def test_all_versions_are_walked_through_in_order(store: Store) -> None:
    for path in ("b", "a/c", "a", "b", "ä"):
        saved(store, path)
    delete(store, "a")
    walked: list[TreeVersion] = []
    place = ("", 0)
    while page := store.tree_versions_from(*place, limit=2):
        walked += [one.version for one in page]
        place = (walked[-1].path, walked[-1].version)
    assert [(one.path, one.version) for one in walked] == [
        ("a", 1), ("a", 2), ("a/c", 1), ("b", 1), ("b", 2), ("ä", 1)
    ]  # fmt: skip


def test_clearing_empties_the_tree_and_the_tree_changes_no_chunks(store: Store) -> None:
    chunks = written_turn(store)
    before = store.change_number()
    saved(store, "a", 1, chunks)
    delete(store, "a")
    assert store.change_number() == before
    store.clear("test")
    assert store.tree_versions_from("", 0, 10) == []
    assert store.tree_snapshot("a", 1) == []
    assert saved(store, "a", expected=0) == 1
    assert store.verify() == []


@pytest.mark.parametrize("content", ["", "{", "NaN", "[" * 70 + "]" * 70, '"' + "x" * 70_000 + '"'])
def test_what_is_no_content_is_refused(store: Store, content: str) -> None:
    with pytest.raises(InputError, match="content for 'a'"):
        store.put_tree_entry("a", content, [], time=TIME, origin="test")
    assert store.tree_outlines() == []
