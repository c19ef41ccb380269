"""The system prompt describes the tools briefly and truthfully, only where they work, and within its token limit."""

import re
from pathlib import Path

import msgspec
import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.session.settings import ToolSettings
from halo_weave.session.turn.turn import send
from halo_weave.session.window import system_prompt
from halo_weave.session.window.system_prompt import with_tools
from halo_weave.tools.calls.tags import TagParser
from halo_weave.tools.registry import Toolbox
from halo_weave.tools.tool import Asker
from support.tool_windows import hub_with_tools, tools
from support.windows import PLAIN, seen_text

ALWAYS = ToolSettings(describe="always")
ROOMY = 100_000


def _toolbox(hub: object) -> Toolbox:
    toolbox = hub.open("main").toolbox  # type: ignore[attr-defined]
    assert isinstance(toolbox, Toolbox)
    return toolbox


def _engine(*, writes_tool_calls: bool = False, trained: int = 4096, usable: int = 4096) -> EchoEngine:
    engine = EchoEngine()
    template = msgspec.structs.replace(engine.facts.chat_template, writes_tool_calls=writes_tool_calls)
    engine.facts = msgspec.structs.replace(
        engine.facts, chat_template=template, trained_context=trained, usable_context=usable
    )
    return engine


@pytest.mark.parametrize("writes_tool_calls", [False, True])
def test_every_example_in_the_description_works(writes_tool_calls: bool, tmp_path: Path) -> None:
    with hub_with_tools(tmp_path / "halo.db") as hub:
        toolbox = _toolbox(hub)
        toolbox.run("save_memory", {"path": "User/Pets", "content": 1}, Asker("test"))
        described = with_tools("", toolbox, ALWAYS, _engine(writes_tool_calls=writes_tool_calls), ROOMY)
        form = "tool_call" if writes_tool_calls else "tool"
        calls = re.findall(f"<{form}>(.+?)</{form}>", described)
        assert len(calls) >= 5
        assert calls == [call.text for call in TagParser().push(described)]
        for call in calls:
            assert not toolbox.call(call, Asker("test")).outcome.is_error, call
        for tool in toolbox.tools:
            assert tool.name in described or tool.name.endswith("_notes")


@pytest.mark.parametrize("most", [0, 10, 60, 150, 300, 600])
def test_it_costs_no_more_tokens_than_it_may(most: int, tmp_path: Path) -> None:
    engine = _engine()
    with hub_with_tools(tmp_path / "halo.db") as hub:
        toolbox = _toolbox(hub)
        for number in range(100):
            toolbox.run("save_memory", {"path": f"Place {number}/日本 {number}", "content": 1}, Asker("test"))
        told = with_tools("", toolbox, ALWAYS, engine, most)
        few = 8  # line ends and the text before the tree
        assert len(engine.tokenize(told)) <= most + few
        assert "Place" in told or most < 600
        assert told or most < 300


@pytest.mark.parametrize(
    ("describe", "trained", "usable", "is_told"),
    [
        ("auto", 8192, 4096, False),
        ("auto", 32_768, 4096, True),
        ("auto", 32_768, 2048, False),
        ("always", 2048, 2048, True),
        ("never", 131_072, 131_072, False),
    ],
)
def test_who_is_told(describe: str, trained: int, usable: int, is_told: bool, tmp_path: Path) -> None:
    settings = msgspec.convert({"describe": describe}, ToolSettings)
    with hub_with_tools(tmp_path / "halo.db") as hub:
        told = with_tools("Be kind.", _toolbox(hub), settings, _engine(trained=trained, usable=usable))
        assert (told != "Be kind.") == is_told
        assert told.startswith("Be kind.")
        off = msgspec.structs.replace(settings, is_on=False)
        assert with_tools("Be kind.", _toolbox(hub), off, _engine(trained=trained, usable=usable)) == "Be kind."


def test_a_tree_that_grows_does_not_make_the_model_read_everything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_prompt, "MOST_TOKENS", 2000)
    path = tmp_path / "halo.db"
    settings = tools(PLAIN, describe="always")
    replies = ["<tool>save_memory('Goals/Rome', 1)</tool>", "Saved.", "Yes."]
    with hub_with_tools(path, replies, settings) as hub:
        window = hub.open("main")
        send(window, "Keep it.")
        assert "Saved so far" not in seen_text(window)
        assert send(window, "Well?").figures.decoded < 60
    with hub_with_tools(path, settings=settings) as hub:
        window = hub.open("main")
        assert "Saved so far:\nGoals/\n  Rome" in seen_text(window)
        window.set_overrides({"tools.describe": "never"})
        assert "Saved so far" not in seen_text(window)
