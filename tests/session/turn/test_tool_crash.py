"""A process killed during tool calls keeps everything that was shown, and whose text it is."""

import json
import random
import subprocess
import time
from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.session.turn.turn import continue_reply
from support.folders import TESTS, worker_command
from support.tool_windows import by_tools, hub_with_tools
from support.windows import is_ascending, living, stored_text
from support.workers import tool_worker

KILLS = 4


def _shown_until_killed(path: Path, seconds: float) -> list[tuple[str, str]]:
    with subprocess.Popen(worker_command("tool_worker", path), cwd=TESTS, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        first = worker.stdout.readline()
        time.sleep(seconds)
        worker.kill()
        lines = [first, *worker.stdout.read().splitlines(keepends=True)]
    return [(kind, text) for kind, text in (json.loads(line) for line in lines if line.endswith("\n"))]


def test_what_was_shown_between_rounds_is_there_again_with_its_marks(tmp_path: Path) -> None:
    choose = random.Random(11)
    for number in range(KILLS):
        path = tmp_path / f"{number}.db"
        shown = _shown_until_killed(path, choose.uniform(0.2, 1.5))
        with hub_with_tools(path, engine=EchoEngine(["And so on."])) as hub:
            window = hub.open(tool_worker.WINDOW)
            assert stored_text(window.memory, 2).startswith("".join(text for _, text in shown))
            results = [text for kind, text in shown if kind == "tool"]
            assert [chunk.text for chunk in by_tools(window)][: len(results)] == results
            assert len(by_tools(window)) <= len(results) + 1
            written = [text for key, text in living(window) if key.role == "assistant"]
            assert "".join(written) == stored_text(window.memory, 2)
            assert window.toolbox is not None
            (noted,) = window.toolbox.notes.query(".scratch.n")
            assert noted is None or noted >= len(results)
            assert is_ascending(window.life.layout().placed)
            assert window.memory.store.verify() == []
            assert continue_reply(window).text == "And so on."
