"""Markdown is rendered in a separate process, so that no text can block the server."""

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.server.rendering.blocks import joined
from halo_weave.server.rendering.code import LANGUAGES, LONGEST_COLOURED
from halo_weave.server.rendering.markdown import blocks_of, rendered
from halo_weave.server.rendering.renderer import Rendering
from halo_weave.server.runtime.jobs import Job, Jobs
from support.servers.served import served, until

# A rendering process with a lexer that takes minutes.
SLOW = (
    "-c",
    "from halo_weave.server.rendering import child, code\ncode.LANGUAGES |= {'easytrieve'}\nchild.main()",
)
TAKES_MINUTES = "```easytrieve\n" + "\t" * (LONGEST_COLOURED - 1) + "\n```"
BOLD = '<p dir="auto"><strong>bold</strong></p>\n'
NESTED = [
    "> " * 4_900,
    "- " * 4_900,
    "[" * 9_900,
    "![" * 4_900,
    "*a **b " * 1_400,
    "`" * 9_999,
    "](" * 4_900,
    "<" * 9_900,
    "\n".join(["[a](b" * 1_900] * 3),
    "|a|b|\n|-|-|\n" + "|x|\n" * 10_000,
    "[a]: b\n" * 9_000 + "[a]" * 3_000,
    "x\n" * 20_000,
    "\n" * 99_000 + "x",
    "\t" * 9_900 + "x",
    *(
        unit * (9_900 // len(unit))
        for unit in ("$", "$a", "\\(", "\\[", "$x$ ", "\\(x\\)", "$\\", "http://a.b/", "www.", "a@")
    ),
    *(
        unit * (99_000 // len(unit))
        for unit in ("$$\n", "\\[\n", "\\(x\\)\n", "$$x$$\n\n", "- [x] a\n", "$|\n", "www.a.org\n")
    ),
    "![](data:image/png," * 5_000,
    "\\[\n" * 30_000 + "\\] x",
    "[" * 1_000_000,
    "*" * 1_000_000,
]


@pytest.fixture(scope="module")
def rendering() -> Iterator[Rendering]:
    with closing(Rendering()) as one:
        yield one


def test_a_process_renders_as_the_function_does(rendering: Rendering) -> None:
    texts = ["# A\n\n**b** `c`", "```python\ndef f(): ...\n```", "half \ud800 of one", "", "\u202eturned"]
    assert rendering.rendered(texts) == [blocks_of(text) for text in texts]


def test_a_text_that_takes_too_long_is_shown_plain_and_the_next_is_rendered(caplog: pytest.LogCaptureFixture) -> None:
    with closing(Rendering(SLOW)) as rendering, caplog.at_level(logging.WARNING):
        slow, next_one, again = map(joined, rendering.rendered([TAKES_MINUTES, "**bold**", TAKES_MINUTES]))
    assert slow == again == f'<div class="unformatted">{TAKES_MINUTES}</div>'
    assert next_one == BOLD
    assert caplog.text.count("shown as plain text") == 1


@pytest.mark.parametrize(
    "code", ["easytrieve\n" + "\t" * 4_900, "autohotkey\n" + "\n" * 4_900, "python\n" + "(" * 5_100]
)
def test_code_in_a_rare_language_or_of_many_pages_has_no_colours(rendering: Rendering, code: str) -> None:
    (html,) = map(joined, rendering.rendered([f"```{code}x\n```"]))
    assert html.startswith('<div class="code-block"')
    assert "<span" not in html


@pytest.mark.parametrize("language", ["python", "js", "html", "sql", "c++", "bash"])
def test_code_in_the_languages_that_people_use_has_colours(language: str) -> None:
    assert language in LANGUAGES
    assert "<span" in rendered(f"```{language}\n<a>if (1) return 'x';\n```")


@pytest.mark.parametrize("text", NESTED, ids=range(len(NESTED)))
def test_hostile_markdown_is_shown_in_one_way_or_another(rendering: Rendering, text: str) -> None:
    (html,) = map(joined, rendering.rendered([text]))
    assert html
    assert [joined(one) for one in rendering.rendered(["**bold**"])] == [BOLD]


def test_texts_are_shown_plain_if_the_process_cannot_start(caplog: pytest.LogCaptureFixture) -> None:
    with closing(Rendering(("-c", "1 / 0"))) as rendering, caplog.at_level(logging.ERROR):
        (blocks,) = rendering.rendered(["**a** <b>"])
        assert joined(blocks) == '<div class="unformatted">**a** &lt;b&gt;</div>'
    assert "cannot start" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="ps is needed")
def test_the_process_ends_with_whoever_started_it() -> None:
    program = (
        "from halo_weave.server.rendering.renderer import Rendering\n"
        "rendering = Rendering(); rendering.rendered(['a']); print(rendering._child._popen.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and "Z" not in listed.stdout


def test_rendering_holds_up_no_other_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rendering uses a single thread of its own, however many requests arrive at once."""
    is_answered = threading.Event()
    renderers: set[threading.Thread] = set()
    others: set[threading.Thread] = set()

    def waiting(_: Rendering, texts: Sequence[str]) -> list[str]:
        renderers.add(threading.current_thread())
        assert is_answered.wait(60)
        return list(texts)

    def jobs(_: Jobs) -> list[Job]:
        others.add(threading.current_thread())
        return []

    monkeypatch.setattr(Rendering, "rendered", waiting)
    monkeypatch.setattr(Jobs, "all", jobs)
    with served(tmp_path) as server:
        threads = [
            threading.Thread(target=server.http.post, args=("/api/render",), kwargs={"json": {"texts": ["a"]}})
            for _ in range(24)
        ]
        for thread in threads:
            thread.start()
        until(lambda: renderers)
        assert server.get("/api/jobs") == []
        is_answered.set()
        for thread in threads:
            thread.join()
    assert len(renderers) == 1
    assert renderers.isdisjoint(others)
