"""The memory tree under random operations equals a plain dictionary."""

import tempfile
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.memory import open_memory
from halo_weave.tools.tree.tree import MemoryTree, TreeNode, UnknownPath
from support.made_up_chunks import TIME

headings = st.sampled_from(["Goals", "Goals2", "goals", "Go", "ü", "a b"])
paths = st.lists(headings, min_size=1, max_size=3).map("/".join)
contents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
MISSING = EmbedderSettings(kind="gguf", model="/no/such/embedder.gguf")


class TreeMachine(RuleBasedStateMachine):
    """The model: what is at each path now, and every version ever made, with None for deletions."""

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()
        folder = self._open.enter_context(tempfile.TemporaryDirectory())
        memories = [self._open.enter_context(closing(open_memory(Path(folder) / "halo.db", MISSING))) for _ in range(2)]
        self.now = TIME
        self.memory = memories[0]
        self.trees = [MemoryTree(memory, self.tick) for memory in memories]
        self.entries: dict[str, Any] = {}
        self.versions: dict[str, list[tuple[Any] | None]] = {}

    def tick(self) -> Any:
        self.now += timedelta(seconds=1)
        return self.now

    def teardown(self) -> None:
        findings = self.memory.store.verify()
        self._open.close()
        assert findings == []

    def put(self, path: str, content: Any) -> int:
        self.entries[path] = content
        self.versions.setdefault(path, []).append((content,))
        return len(self.versions[path])

    @rule(path=paths, content=contents, handle=st.integers(0, 1))
    def save(self, path: str, content: Any, handle: int) -> None:
        saved = self.trees[handle].save(path, content, 0, origin="model")
        assert saved.version == self.put(path, content)

    @rule(path=paths, content=contents, expected=st.integers(0, 3), handle=st.integers(0, 1))
    def save_if_unchanged(self, path: str, content: Any, expected: int, handle: int) -> None:
        tree = self.trees[handle]
        if expected != (len(self.versions[path]) if path in self.entries else 0):
            with pytest.raises(StoreConflict):
                tree.save(path, content, 0, origin="model", expected_version=expected)
            return
        saved = tree.save(path, content, 0, origin="model", expected_version=expected)
        assert saved.version == self.put(path, content)

    @rule(path=paths, recursive=st.booleans(), handle=st.integers(0, 1))
    def delete(self, path: str, recursive: bool, handle: int) -> None:
        gone = sorted(
            (one for one in self.entries if one == path or (recursive and one.startswith(path + "/"))),
            key=lambda one: one.split("/"),
        )
        if not gone:
            with pytest.raises(UnknownPath):
                self.trees[handle].delete(path, recursive, origin="model")
            return
        assert self.trees[handle].delete(path, recursive, origin="model") == gone
        for one in gone:
            del self.entries[one]
            self.versions[one].append(None)

    @rule(path=paths, handle=st.integers(0, 1))
    def undelete(self, path: str, handle: int) -> None:
        if path in self.entries or path not in self.versions:
            with pytest.raises((StoreConflict, InputError)):
                self.trees[handle].undelete([path], origin="model")
            return
        self.trees[handle].undelete([path], origin="model")
        (content,) = next(one for one in reversed(self.versions[path]) if one is not None)
        self.put(path, content)

    @rule(path=paths, version=st.integers(1, 4), handle=st.integers(0, 1))
    def restore(self, path: str, version: int, handle: int) -> None:
        known = self.versions.get(path, [])
        earlier = known[version - 1] if version <= len(known) else None
        if earlier is None:
            with pytest.raises(InputError):
                self.trees[handle].restore(path, version, origin="model")
            return
        assert self.trees[handle].restore(path, version, origin="model").version == self.put(path, earlier[0])

    @rule(path=paths)
    def read(self, path: str) -> None:
        if path not in self.entries:
            with pytest.raises(UnknownPath):
                self.trees[1].query(path)
            return
        entry = self.trees[1].query(path)
        assert (entry.content, entry.version) == (self.entries[path], len(self.versions[path]))
        assert entry.accessed == self.now

    @rule(root=paths | st.just(""))
    def search(self, root: str) -> None:
        under = {path for path in self.entries if not root or path.startswith(root + "/")}
        if root and not under:
            with pytest.raises(UnknownPath):
                self.trees[0].query_heading(root)
            return
        assert {one.path: one.content for one in self.trees[0].query_heading(root)} == {
            path: self.entries[path] for path in under
        }

    @invariant()
    def lists_what_is_there(self) -> None:
        listed: dict[str, int] = {}
        walk(self.trees[0].list(), listed)
        assert listed == {path: len(self.versions[path]) for path in self.entries}

    @invariant()
    def knows_its_history(self) -> None:
        for path, versions in self.versions.items():
            history = self.trees[1].history(path)
            assert [one.is_deletion for one in reversed(history)] == [one is None for one in versions]


def walk(node: TreeNode, listed: dict[str, int]) -> None:
    """Check that every heading is below its parent and leads to an entry."""
    if node.entry is not None:
        assert node.entry.path == node.path
        listed[node.path] = node.entry.version
    for child in node.children:
        assert child.path == (f"{node.path}/{child.heading}" if node.path else child.heading)
        assert child.entry or child.children
        walk(child, listed)


TreeMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestTree = TreeMachine.TestCase
