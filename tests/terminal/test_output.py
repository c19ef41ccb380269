"""What reaches the terminal and what does not."""

import io
import sys

import pytest

from halo_weave.terminal import output


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    output.write("red \x1b[31mtext\x07\ttab\nline\x9b")
    assert screen.getvalue() == "red [31mtext\ttab\nline"


def test_notices_cannot_steer_a_terminal_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("NO_COLOR", "1")
    output.notice("(returned “\x1b[2Jgone”)")
    assert screen.getvalue() == "(returned “[2Jgone”)\n"


def test_a_pipe_gets_the_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.write("\x1b[31m")
    assert capsys.readouterr().out == "\x1b[31m"


@pytest.mark.parametrize(
    ("environ", "is_dim"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_notices_are_dim_unless_no_color_is_wanted(environ: dict[str, str], is_dim: bool) -> None:
    assert output.has_styles(Screen(), environ) is is_dim
    assert output.has_styles(io.StringIO(), environ) is False
