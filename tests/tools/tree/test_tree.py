"""The memory tree: saving with related conversation, reading, searching under headings, deleting and restoring."""

import itertools
import math
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedders.minilm import NAME as MINILM
from halo_weave.memory.memory import Memory, open_memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.tree import LARGEST_CONTENT_BYTES
from halo_weave.tools.tree.tree import MemoryTree, TreeNode, UnknownPath
from support.conversations import BEGIN, written
from support.servers.embedding_servers import EMBEDDINGS, embedding_server, made_up_vector
from support.workers.tree_worker import PATH, run_workers, start_worker

MISSING = EmbedderSettings(kind="gguf", model="/no/such/embedder.gguf")
CATS = ("what do cats like to eat\nand to drink", "cats like fish most of all\nand fresh water")
SHIPS = ("how do ships float", "they displace as much water as they weigh")


class Clock:
    def __init__(self) -> None:
        self.now = BEGIN + timedelta(days=100)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, CATS, SHIPS))
        yield memory


@pytest.fixture
def bare(path: Path) -> Iterator[Memory]:
    """An empty memory without a usable embedder."""
    with closing(open_memory(path, MISSING)) as memory:
        yield memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tree(memory: Memory, clock: Clock) -> MemoryTree:
    return MemoryTree(memory, clock)


@pytest.fixture
def bare_tree(bare: Memory, clock: Clock) -> MemoryTree:
    return MemoryTree(bare, clock)


def save(tree: MemoryTree, path: str, content: Any = None, **more: Any) -> int:
    return tree.save(path, content, origin="test", **more).version


def shape(node: TreeNode) -> dict[str, Any]:
    """Return headings by name, with a star on those that have an entry."""
    return {child.heading + ("*" if child.entry else ""): shape(child) for child in node.children}


def test_a_save_takes_along_what_it_is_about_the_best_first(tree: MemoryTree, clock: Clock) -> None:
    saved = tree.save("Facts/Cats", {"food": "cats like fish"}, origin="model")
    entry = tree.query("Facts/Cats")
    assert (saved.path, saved.version, saved.chunks) == ("Facts/Cats", 1, len(entry.snapshot))
    assert saved.snapshot_tokens == sum(len(one.tokens) for one in entry.snapshot)
    keys = [one.key for one in entry.snapshot]
    assert {key.turn for key in keys[:3]} == {1, 2}
    best = entry.snapshot[keys.index(ChunkKey(2, 0, "assistant"))]
    assert best.text == "cats like fish most of all "
    assert "".join(token.text for token in best.tokens) == best.text
    assert (best.first_position, best.time) == (2000, BEGIN + timedelta(minutes=2))
    assert best.similarity > 0.5
    assert best.embedder == MINILM
    assert best.vector is not None
    assert math.isclose(float(best.vector @ best.vector), 1, abs_tol=1e-3)
    assert (entry.content, entry.created, entry.modified) == ({"food": "cats like fish"}, clock.now, clock.now)


@pytest.mark.parametrize("tokens", [0, 1, 6, 9, 1000])
def test_a_snapshot_keeps_to_its_tokens(tree: MemoryTree, tokens: int) -> None:
    saved = tree.save("Cats", "what cats eat", tokens, origin="test")
    snapshot = tree.query("Cats").snapshot
    assert sum(one.token_count for one in snapshot) == saved.snapshot_tokens <= tokens
    assert bool(snapshot) == (tokens > 2)


@pytest.mark.parametrize("tokens", [-1, 10**6, 1.5, True, "10"])
def test_a_budget_that_is_none_is_refused(tree: MemoryTree, tokens: Any) -> None:
    with pytest.raises(InputError, match=r"but must be from 0 to 32,768; nothing was saved"):
        save(tree, "a", 1, context_tokens=tokens)
    assert tree.list().children == []


@pytest.mark.parametrize("content", [None, True, 0, -1.5, 2**70, "", "Grüße 🦉\0", [], {}, {"a": [{"b": None}]}])
def test_any_json_comes_back_as_it_was(tree: MemoryTree, content: Any) -> None:
    save(tree, "a", content)
    assert tree.query("a").content == content


@pytest.mark.parametrize(
    "content", [float("nan"), {1: 2}, (1, 2), {1, 2}, b"bytes", "\ud800", object(), "x" * LARGEST_CONTENT_BYTES]
)
def test_what_is_no_json_or_too_large_is_refused(tree: MemoryTree, content: Any) -> None:
    with pytest.raises(InputError, match="content for 'a'"):
        save(tree, "a", content)
    assert tree.list().children == []


def test_content_may_be_deep_but_not_without_end(tree: MemoryTree) -> None:
    def nested(levels: int) -> Any:
        content: Any = 1
        for _ in range(levels):
            content = [content]
        return content

    save(tree, "a", nested(64))
    for levels in (66, 10_000):
        with pytest.raises(InputError, match="content for 'a'"):
            save(tree, "a", nested(levels))


def test_reading_is_noted_and_looking_is_not(tree: MemoryTree, clock: Clock) -> None:
    save(tree, "a", 1)
    saved_at = clock.now
    clock.pass_days(1)
    assert tree.entry("a").accessed == saved_at
    assert tree.query("a").accessed == clock.now
    clock.pass_days(1)
    assert tree.entry("a").accessed == clock.now - timedelta(days=1)
    assert tree.entry("a").modified == saved_at


def test_a_later_writer_overwrites_unless_it_names_the_version_it_read(tree: MemoryTree) -> None:
    save(tree, "a", "first", expected_version=0)
    read = tree.query("a").version
    save(tree, "a", "second")
    with pytest.raises(StoreConflict, match=r"is at version 2, not 1\. Read it again, or save it without a version"):
        save(tree, "a", "third", expected_version=read)
    assert tree.query("a").content == "second"
    assert save(tree, "a", "third", expected_version=2) == 3


def test_of_two_processes_the_later_sees_a_conflict_and_no_change_is_lost(path: Path) -> None:
    with closing(open_memory(path)) as memory:
        tree = MemoryTree(memory)
        save(tree, PATH, 0, context_tokens=0)
        read = tree.query(PATH).version
        run_workers(path, workers=1, times=1)
        with pytest.raises(StoreConflict, match="is at version 2, not 1"):
            save(tree, PATH, 99, context_tokens=0, expected_version=read)
        run_workers(path, workers=2, times=20)
        assert (tree.query(PATH).content, tree.query(PATH).version) == (41, 42)
        assert memory.store.verify() == []


def test_what_was_acknowledged_survives_a_killed_process(path: Path) -> None:
    with closing(open_memory(path)) as memory:
        save(MemoryTree(memory), PATH, 0, context_tokens=0)
    acknowledged = 1
    for lines in (1, 7, 20):
        worker = start_worker(path, 10_000)
        assert worker.stdout is not None
        with worker, worker.stdout:
            for line in itertools.islice(worker.stdout, lines):
                acknowledged = int(line)
            worker.kill()
            for line in worker.stdout:
                acknowledged = int(line)
    with closing(open_memory(path)) as memory:
        entry = MemoryTree(memory).query(PATH)
        assert entry.version - acknowledged in (0, 1)
        assert entry.content == entry.version - 1
        assert memory.store.verify() == []


def test_what_is_both_entry_and_heading_is_both_in_the_list(tree: MemoryTree) -> None:
    for name in ("Goals2/x", "Goals/Phase/Two", "Goals/Phase", "Goals/Alone", "Top"):
        save(tree, name, name)
    assert shape(tree.list()) == {
        "Goals": {"Alone*": {}, "Phase*": {"Two*": {}}},
        "Goals2": {"x*": {}},
        "Top*": {},
    }
    under = tree.list("Goals")
    assert (under.path, under.entry, shape(under)) == ("Goals", None, {"Alone*": {}, "Phase*": {"Two*": {}}})
    phase = tree.list(" Goals / Phase ")
    assert phase.entry is not None
    assert (phase.entry.beginning, phase.entry.version) == ('"Goals/Phase"', 1)
    assert tree.list("Goals/Phase/Two").count() == 1
    with pytest.raises(UnknownPath, match="memory tree has nothing at 'Goal'"):
        tree.list("Goal")


def test_a_deletion_says_what_went_and_what_it_could_not_find(tree: MemoryTree) -> None:
    for name in ("Goals/a", "Goals/b/c", "Goals2", "Deep/er"):
        save(tree, name, 1)
    with pytest.raises(UnknownPath, match=r"no entry at 'Goals', but 2 below it: Goals/a, Goals/b/c\."):
        tree.delete("Goals", origin="test")
    assert tree.delete("Goals", recursive=True, origin="test") == ["Goals/a", "Goals/b/c"]
    for recursive in (True, False):
        with pytest.raises(UnknownPath, match=r"The memory tree has nothing at 'Goals'\."):
            tree.delete("Goals", recursive, origin="test")
    assert shape(tree.list()) == {"Deep": {"er*": {}}, "Goals2*": {}}
    assert tree.undelete(["Goals/a", "Goals/b/c"], origin="test") == ["Goals/a", "Goals/b/c"]
    assert shape(tree.list("Goals")) == {"a*": {}, "b": {"c*": {}}}


def test_history_is_told_and_an_earlier_version_comes_back(tree: MemoryTree, clock: Clock) -> None:
    tree.save("a", "what cats eat", origin="model")
    before = tree.query("a").snapshot
    clock.pass_days(3)
    save(tree, "a", "how ships float", context_tokens=0)
    tree.delete("a", origin="page")
    history = tree.history("a")
    assert [(one.version, one.origin, one.is_deletion) for one in history] == [
        (3, "page", True),
        (2, "test", False),
        (1, "model", False),
    ]
    assert history[2].chunks == len(before)
    assert tree.version("a", 1).content == "what cats eat"
    assert [one.key for one in tree.version("a", 1).snapshot] == [one.key for one in before]
    with pytest.raises(UnknownPath, match="Version 3 of the memory at 'a' is its deletion"):
        tree.version("a", 3)
    saved = tree.restore("a", 1, origin="page")
    assert (saved.version, saved.chunks) == (4, len(before))
    entry = tree.query("a")
    assert (entry.content, entry.created, entry.modified) == ("what cats eat", history[2].time, clock.now)
    assert [one.key for one in entry.snapshot] == [one.key for one in before]
    with pytest.raises(UnknownPath, match="memory tree has nothing at 'b'"):
        tree.history("b")


def test_a_score_is_similarity_and_recency_in_the_share_asked_for(tree: MemoryTree, clock: Clock) -> None:
    save(tree, "Facts/Animals/Cats", "what cats like to eat", context_tokens=6)
    clock.pass_days(45)
    save(tree, "Facts/Ships", "how ships float", context_tokens=4)
    clock.pass_days(15)
    for bias in (0.0, 0.3, 1.0):
        found = {one.path: one for one in tree.query_heading("Facts", "which food is good for a cat", bias)}
        assert set(found) == {"Facts/Animals/Cats", "Facts/Ships"}
        for path, days in (("Facts/Animals/Cats", 60), ("Facts/Ships", 15)):
            one = found[path]
            assert one.similarity is not None
            assert math.isclose(one.recency, math.exp(-days / 30))
            assert math.isclose(one.score, (1 - bias) * one.similarity + bias * one.recency)
        assert next(iter(found)) == ("Facts/Ships" if bias == 1 else "Facts/Animals/Cats")
        (near,) = found["Facts/Animals/Cats"].chunks
        assert (near.similarity, near.chunk.key) == (found["Facts/Animals/Cats"].similarity, ChunkKey(1, 0, "user"))
        assert found["Facts/Ships"].chunks == []


def test_without_a_question_the_newest_comes_first(tree: MemoryTree, clock: Clock) -> None:
    for name in ("Goals/old", "Goals/new/er", "Goals", "Goals2"):
        save(tree, name, name)
        clock.pass_days(1)
    found = tree.query_heading("Goals")
    assert [(one.path, one.similarity) for one in found] == [("Goals/new/er", None), ("Goals/old", None)]
    assert next(one.path for one in tree.query_heading("", "  ")) == "Goals2"
    assert len(tree.query_heading("")) == 4


def test_a_heading_without_anything_under_it_is_said(tree: MemoryTree) -> None:
    assert tree.query_heading("", "anything") == []
    save(tree, "Goals", 1)
    with pytest.raises(UnknownPath, match=r"nothing under 'Goals', only an entry at this path\."):
        tree.query_heading("Goals")
    with pytest.raises(UnknownPath, match=r"nothing under 'Goal'\."):
        tree.query_heading("Goal", "x")
    for bias in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="recency_bias"):
            tree.query_heading("", "x", bias)


def test_a_snapshot_takes_the_vectors_of_the_index_along(tree: MemoryTree, memory: Memory) -> None:
    save(tree, "Facts/Ships", "displace water")
    for one in tree.query("Facts/Ships").snapshot:
        stored = memory.chunk(one.key)
        assert stored is not None
        _, (vector,) = memory.store.vectors_by_ids(MINILM, [stored.id])
        assert one.vector is not None
        assert one.vector.tolist() == vector.tolist()


def test_a_vector_that_may_know_a_deleted_text_leaves_the_snapshot(tree: MemoryTree, memory: Memory) -> None:
    """A question and its answer are embedded with each other's opening."""
    save(tree, "Facts/Ships", "displace water")
    question, answer = ChunkKey(3, 0, "user"), ChunkKey(4, 0, "assistant")
    memory.delete([question], "test")
    left = {one.key: one for one in tree.query("Facts/Ships").snapshot}
    assert question not in left
    assert (left[answer].embedder, left[answer].vector) == (None, None)
    tree.query_heading("Facts", "ships")
    again = next(one for one in tree.query("Facts/Ships").snapshot if one.key == answer)
    made = memory.embed_texts([again.text])
    assert made is not None
    assert again.vector is not None
    assert float(made[1][0] @ again.vector) > 0.9999


def test_what_the_user_deleted_leaves_snapshots_and_their_search(tree: MemoryTree, memory: Memory) -> None:
    save(tree, "Facts/Cats", "what cats like to eat")
    keys = [one.key for one in tree.query("Facts/Cats").snapshot]
    (before,) = tree.query_heading("Facts", "cats like fish")
    memory.delete(keys, "test")
    assert tree.query("Facts/Cats").snapshot == []
    (hidden,) = tree.query_heading("Facts", "cats like fish")
    assert hidden.chunks == []
    memory.undelete(keys, "test")
    (again,) = tree.query_heading("Facts", "cats like fish")
    assert again.similarity == before.similarity
    memory.forget(keys, "test")
    assert tree.query("Facts/Cats").snapshot == []
    assert memory.store.verify() == []


def test_snapshots_of_another_embedder_are_embedded_again_once(path: Path, memory: Memory, clock: Clock) -> None:
    save(MemoryTree(memory, clock), "Facts/Cats", "what cats like to eat")
    texts = [one.text for one in MemoryTree(memory).query("Facts/Cats").snapshot]
    memory.close()
    with embedding_server() as server:
        settings = EmbedderSettings(kind="openai", url=server.url)
        with closing(open_memory(path, settings)) as other:
            other.reembed()
            asked = len(server.bodies(EMBEDDINGS))
            tree = MemoryTree(other, clock)
            (found,) = tree.query_heading("Facts", texts[0])
            assert found.similarity is not None
            assert math.isclose(found.similarity, 1, abs_tol=1e-3)
            assert {text for body in server.bodies(EMBEDDINGS)[asked:] for text in body["input"]} == set(texts)
            again = len(server.bodies(EMBEDDINGS))
            tree.query_heading("Facts", "something else")
            assert [body["input"] for body in server.bodies(EMBEDDINGS)[again:]] == [["something else"]]
            snapshot = tree.query("Facts/Cats").snapshot
            assert {one.embedder for one in snapshot} == {other.store.serving_embedder()}
            assert {len(one.vector) for one in snapshot if one.vector is not None} == {len(made_up_vector(""))}


def test_without_an_embedder_words_decide(bare: Memory, bare_tree: MemoryTree) -> None:
    written(bare, CATS, SHIPS)
    saved = bare_tree.save("Facts/Cats", "cats fish", origin="test")
    assert saved.chunks > 0
    save(bare_tree, "Facts/Ships", "ships float")
    snapshot = bare_tree.query("Facts/Cats").snapshot
    assert all(one.similarity == 0 and one.vector is None for one in snapshot), "a score by words is no cosine"
    found = bare_tree.query_heading("Facts", "Fish for CATS", 0.0)
    assert [(one.path, one.similarity) for one in found] == [("Facts/Cats", 2 / 3), ("Facts/Ships", 0.0)]


def test_an_empty_memory_and_a_missing_embedder_are_no_reason_not_to_save(bare_tree: MemoryTree) -> None:
    assert bare_tree.save("a", {"b": "cats"}, origin="test").chunks == 0
    save(bare_tree, "c", {"b": "ships"})
    found = bare_tree.query_heading("", "cats", 0.0)
    assert [(one.path, one.similarity) for one in found] == [("a", 1.0), ("c", 0.0)]


def test_an_entry_without_a_snapshot_is_found_by_what_it_says(tree: MemoryTree) -> None:
    save(tree, "Bare/One", "the colour of the sea", context_tokens=0)
    save(tree, "Bare/Two", "programming in Rust", context_tokens=0)
    for _ in range(2):
        found = tree.query_heading("Bare", "a language for programs", 0.0)
        assert [one.path for one in found] == ["Bare/Two", "Bare/One"]
        assert found[0].similarity is not None
        assert found[0].similarity > 0.3


def test_the_outline_shows_the_top_levels(tree: MemoryTree) -> None:
    assert tree.outline() == ""
    for name in ("HaloWeave/Goals/One", "HaloWeave/Goals/Two/Deep", "HaloWeave/Bugs", "User", "User/Style"):
        save(tree, name, 1, context_tokens=0)
    assert tree.outline(1) == "HaloWeave/ (3 below)\nUser/ (entry, 1 below)"
    assert tree.outline(2) == "HaloWeave/\n  Bugs\n  Goals/ (2 below)\nUser/ (entry)\n  Style"
    assert "    Two/ (1 below)" in tree.outline(3)
    assert tree.outline(9) == tree.outline(4)


def test_an_outline_never_has_more_characters_than_allowed(tree: MemoryTree) -> None:
    for first, second in itertools.product(range(10), range(10)):
        save(tree, f"Heading {first}/Entry {second}", 1, context_tokens=0)
    everything = tree.outline(2, 10_000)
    assert len(everything.splitlines()) == 110
    assert tree.outline(2, len(everything)) == everything
    assert tree.outline(2, len(everything) - 1) == tree.outline(1)
    for most in range(0, 240, 7):
        shown = tree.outline(2, most)
        assert len(shown) <= most
    assert tree.outline(2, 60) == "Heading 0/ (10 below)\nHeading 1/ (10 below)\n… 8 more"
