"""The tools: they answer any request with an outcome."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_weave.memory.memory import open_memory
from halo_weave.memory.settings import MemorySettings
from halo_weave.tools.factory import Toolboxes, opened_toolboxes
from halo_weave.tools.tool import Asker
from support.windows import WORDS_ALONE

ME = Asker("test")
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[Toolboxes]:
    with (
        closing(open_memory(tmp_path / "halo.db", WORDS_ALONE)) as memory,
        opened_toolboxes(memory, MemorySettings()) as opened,
    ):
        yield opened


def test_a_chat_has_no_use_for_remember_and_others_read_what_a_chat_weaves_in(boxes: Toolboxes) -> None:
    chat = {tool.name for tool in boxes.chat.tools}
    others = {tool.name for tool in boxes.assistants.tools}
    assert chat - others == {"query_memory"}
    assert others - chat == {"read_memory", "remember"}


def test_every_tool_says_what_it_is_for_and_what_it_takes(boxes: Toolboxes) -> None:
    for tool in boxes.assistants.tools:
        assert len(tool.description) > 40
        assert tool.parameters["additionalProperties"] is False
        assert set(tool.parameters["properties"]) == set(tool.argument_names)
        assert all("description" in str(part) for part in tool.parameters["properties"].values()), tool.name


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_arguments_give_an_outcome_of_one_line(boxes: Toolboxes, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(boxes.assistants.tools))
    known = st.dictionaries(st.sampled_from(tool.argument_names), _JSON, max_size=3)
    arguments: dict[str, Any] = data.draw(known | st.dictionaries(st.text(), _JSON, max_size=2))
    outcome = boxes.assistants.run(tool.name, arguments, ME)
    assert outcome.line.startswith("❌ " if outcome.is_error else "✓ ")
    assert "\n" not in outcome.line
    assert "failed with an internal error" not in outcome.line


def test_who_saves_upon_a_version_that_is_no_longer_there_is_told(boxes: Toolboxes) -> None:
    box = boxes.assistants
    assert not box.run("save_memory", {"path": "A", "content": 1, "expected_version": 0}, ME).is_error
    assert box.run("save_memory", {"path": "A", "content": 2, "expected_version": 0}, ME).is_error
    assert not box.run("save_memory", {"path": "A", "content": 2, "expected_version": 1}, ME).is_error
    assert box.run("read_memory", {"path": "A"}, ME).data["content"] == 2


def test_the_exchange_under_way_is_no_memory_yet(boxes: Toolboxes) -> None:
    box = boxes.assistants
    turn = int(box.run("remember", {"user": "The cat is Mia.", "assistant": "The cat, I see."}, ME).data["turn"])
    assert len(box.run("search_memory", {"query": "cat"}, ME).data["found"]) == 2
    within = Asker("test", turn, turn + 1)
    assert box.run("search_memory", {"query": "cat"}, within).data["found"] == []
    saved = box.run("save_memory", {"path": "Cat", "content": "cat"}, within)
    assert saved.data["chunks"] == 1


def test_what_is_found_is_bounded_however_long_it_is(boxes: Toolboxes) -> None:
    box = boxes.assistants
    for _ in range(3):
        box.run("remember", {"user": "cat " * 10_000}, ME)
    found = box.run("search_memory", {"query": "cat", "limit": 50}, ME).data["found"]
    assert sum(len(one["text"]) for one in found) < 41_000
