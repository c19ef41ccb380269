"""The terminal chat: the conversation by itself, over a pipe, and in a real terminal with the bundled model."""

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.config import ChatSettings
from halo_weave.engine import turns
from halo_weave.engine.echo import EchoContext, EchoEngine
from halo_weave.engine.protocol import Abilities, Ability, Engine, GenerationSettings, Placed
from halo_weave.errors import EngineError, EngineStopped, InputError
from halo_weave.terminal import chat, output
from halo_weave.terminal.conversation import Conversation

PATIENCE_S = 120
SYSTEM = "Be kind."


def conversation_with(
    engine: Engine, *, max_tokens: int = 100, system_prompt: str = SYSTEM, notices: list[str] | None = None
) -> Conversation:
    notify = (notices if notices is not None else []).append
    return Conversation(engine, GenerationSettings(max_tokens=max_tokens, temperature=0), system_prompt, notify)


def text_of(engine: Engine, tokens: list[Placed]) -> str:
    return engine.detokenize([token.token_id for token in tokens])


class TestConversation:
    def test_a_reply_comes_in_pieces_that_make_the_whole(self) -> None:
        conversation = conversation_with(EchoEngine(["Good morning to you."]))
        pieces = list(conversation.ask("Hello"))
        assert len(pieces) > 1
        assert "".join(pieces) == "Good morning to you."

    def test_the_context_is_what_the_template_says(self) -> None:
        engine = EchoEngine(["One.", "Two."])
        conversation = conversation_with(engine)
        for message in ("First", "Second"):
            list(conversation.ask(message))
        marks = engine.facts.chat_template
        expected = f"{marks.start}{marks.system.opening}{SYSTEM}{marks.system.closing}"
        for question, reply in (("First", "One."), ("Second", "Two.")):
            expected += f"{marks.user.opening}{question}{marks.user.closing}"
            expected += f"{marks.assistant.opening}{reply}{marks.assistant.closing}"
        assert text_of(engine, conversation.tokens) == expected
        assert [token.position for token in conversation.tokens] == list(range(len(conversation.tokens)))

    def test_without_a_system_prompt_there_is_no_system_turn(self) -> None:
        engine = EchoEngine()
        conversation = conversation_with(engine, system_prompt="")
        list(conversation.ask("Hello"))
        assert text_of(engine, conversation.tokens).startswith("<|im_start|>user\nHello")

    def test_a_reply_cut_by_its_length_is_closed_too(self) -> None:
        engine = EchoEngine(["a very long reply that goes on and on"])
        conversation = conversation_with(engine, max_tokens=3)
        reply = "".join(conversation.ask("Hello"))
        assert conversation.finish_reason == "length"
        assert text_of(engine, conversation.tokens).endswith(f"<|im_start|>assistant\n{reply}<|im_end|>\n")

    def test_only_what_is_new_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reports = []
        sync = EchoContext.sync

        def recorded(context: EchoContext, tokens: list[Placed]) -> None:
            reports.append(sync(context, tokens))

        monkeypatch.setattr(EchoContext, "sync", recorded)
        engine = EchoEngine()
        conversation = conversation_with(engine)
        list(conversation.ask("First"))
        before = len(conversation.tokens)
        list(conversation.ask("Second"))
        closing_behind_the_end_token = len(turns.closing_tokens(engine, "assistant")) - 1
        assert reports[1].removed == 0
        assert reports[1].kept >= before - closing_behind_the_end_token - 1

    def test_a_message_that_cannot_fit_is_refused_with_the_figures_and_changes_nothing(self) -> None:
        engine = EchoEngine(context_tokens=200)
        conversation = conversation_with(engine)
        list(conversation.ask("Hello"))
        before = conversation.tokens
        with pytest.raises(InputError, match=r"takes \d+ tokens, .* reply up to 100, and the context has 200"):
            conversation.ask("too long " * 50)
        assert conversation.tokens == before
        assert "".join(conversation.ask("Hello again")) == "You said: Hello again"

    def test_an_error_leaves_the_conversation_as_it_was(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise EngineError("The model is gone.")

        conversation = conversation_with(EchoEngine())
        list(conversation.ask("Hello"))
        before = conversation.tokens
        with monkeypatch.context() as patch:
            patch.setattr(EchoContext, "generate", fail)
            with pytest.raises(EngineError, match="gone"):
                list(conversation.ask("Are you there?"))
        assert conversation.tokens == before
        assert "".join(conversation.ask("Back?")) == "You said: Back?"

    def test_a_stopped_reply_stays_as_far_as_it_came(self) -> None:
        engine = EchoEngine(["a reply of many words " * 10])
        conversation = conversation_with(engine)
        pieces = conversation.ask("Hello")
        shown = next(pieces)
        stopper = threading.Thread(target=conversation.stop)
        stopper.start()
        stopper.join()
        shown += "".join(pieces)
        assert conversation.finish_reason == "stopped"
        assert len(shown) < 40
        assert text_of(engine, conversation.tokens).endswith(f"{shown}<|im_end|>\n")

    def test_a_stop_before_the_reply_began_takes_the_message_back(self) -> None:
        conversation = conversation_with(EchoEngine())
        before = conversation.tokens
        pieces = conversation.ask("Hello")
        conversation.stop()
        with pytest.raises(EngineStopped):
            next(pieces)
        assert conversation.tokens == before
        assert "".join(conversation.ask("Hello")) == "You said: Hello"

    def test_the_oldest_exchanges_leave_when_the_context_is_full_and_this_is_told(self) -> None:
        notices: list[str] = []
        engine = EchoEngine(context_tokens=250)
        conversation = conversation_with(engine, notices=notices)
        for number in range(6):
            list(conversation.ask(f"message number {number}"))
        assert notices
        assert "oldest" in notices[0]
        text = text_of(engine, conversation.tokens)
        assert SYSTEM in text
        assert "number 0" not in text
        assert "number 5" in text

    @settings(max_examples=50)
    @given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=8), st.integers(60, 300))
    def test_whatever_is_said_the_context_is_never_too_large_and_turns_stay_whole(
        self, messages: list[str], context_tokens: int
    ) -> None:
        engine = EchoEngine(context_tokens=context_tokens)
        conversation = conversation_with(engine, max_tokens=30)
        beginning, ever_used = conversation.tokens, set[Placed]()
        for message in messages:
            before = conversation.tokens
            try:
                list(conversation.ask(message))
            except InputError:
                assert conversation.tokens == before
                continue
            tokens = conversation.tokens
            assert tokens[: len(beginning)] == beginning
            assert [token.position for token in tokens] == sorted({token.position for token in tokens})
            added = [token for token in tokens if token not in before]
            assert not ever_used & {Placed(*token) for token in added}
            assert len(added) + len(beginning) <= context_tokens + len(turns.closing_tokens(engine, "assistant"))
            ever_used.update(tokens)
            start, end = (engine.tokenize(mark, special=True)[0].id for mark in ("<|im_start|>", "<|im_end|>"))
            ids = [token.token_id for token in tokens]
            assert ids.count(start) == ids.count(end) == ids.count(start) // 2 * 2 + 1


def test_welcome_tells_model_context_and_abilities_and_the_way_to_a_better_model() -> None:
    facts = EchoEngine().facts
    assert chat.welcome(facts, is_bundled=True).splitlines() == [
        "echo · context 4,096 tokens · attention yes · editing yes",
        "The bundled model is very small and often wrong; use your own with --model your.gguf.",
        "/help shows the keys, /quit leaves.",
    ]
    without = Abilities(attention=Ability(False, "the server sends none"), editing=Ability(True))
    shown = chat.welcome(msgspec.structs.replace(facts, abilities=without), is_bundled=False)
    assert "attention no (the server sends none)" in shown
    assert "bundled" not in shown


class TestConverse:
    """The loop over messages, with an engine that repeats what was said."""

    def converse(self, *messages: str, is_typed: bool = True) -> None:
        with contextlib.closing(conversation_with(EchoEngine(context_tokens=300))) as conversation:
            chat.converse(conversation, messages, is_typed=is_typed)

    def test_each_message_is_answered_on_lines_of_its_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.converse("one", "", "   ", "two")
        assert capsys.readouterr().out == "You said: one\nYou said: two\n"

    def test_help_is_shown_and_quit_ends(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.converse("/help", "/quit", "never said")
        assert capsys.readouterr().out == f"{chat.HELP}\n"

    def test_an_unknown_command_says_so(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.converse("/dance now")
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == "There is no command /dance; /help lists what there is.\n"

    @pytest.mark.parametrize("message", ["/usr/bin holds programs", "/* a comment */", "/help\nme", " /help"])
    def test_what_only_looks_like_a_command_is_said(self, capsys: pytest.CaptureFixture[str], message: str) -> None:
        self.converse(message)
        assert capsys.readouterr().out == f"You said: {message}\n"

    def test_somebody_who_types_is_told_of_an_error_and_goes_on(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.converse("too long " * 100, "short")
        shown = capsys.readouterr()
        assert shown.err.startswith("halo-weave: The message does not fit: ")
        assert shown.out == "You said: short\n"

    def test_over_a_pipe_an_error_ends_the_chat(self) -> None:
        with pytest.raises(InputError, match="does not fit"):
            self.converse("too long " * 100, "short", is_typed=False)

    def test_bytes_that_are_no_text_do_not_end_the_chat(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.converse(b"caf\xe9".decode("utf-8", "surrogateescape"))
        assert capsys.readouterr().out == "You said: caf?\n"

    def test_a_cut_reply_and_a_silent_one_are_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        conversation = conversation_with(EchoEngine(["", "a long reply"]), max_tokens=2)
        chat.converse(conversation, ["one", "two"], is_typed=True)
        assert capsys.readouterr().err.splitlines() == [
            "(the model ended its turn without a word)",
            "(cut at the longest reply; --max-tokens allows longer ones)",
        ]

    def test_the_handler_of_ctrl_c_is_put_back(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        self.converse("one")
        assert signal.getsignal(signal.SIGINT) is before

    def test_ctrl_c_stops_the_reply_and_not_the_chat(self, capsys: pytest.CaptureFixture[str]) -> None:
        conversation = conversation_with(_interrupting_engine(["word " * 300, "And on."]), max_tokens=600)
        chat.converse(conversation, ["one", "two"], is_typed=True)
        shown = capsys.readouterr()
        assert len(shown.out) < 200
        assert shown.out.endswith("\nAnd on.\n")
        assert shown.err == "(stopped)\n"

    def test_over_a_pipe_ctrl_c_ends_the_chat(self, capsys: pytest.CaptureFixture[str]) -> None:
        conversation = conversation_with(_interrupting_engine(["word " * 300]), max_tokens=600)
        with pytest.raises(KeyboardInterrupt):
            chat.converse(conversation, ["one", "two"], is_typed=False)
        assert len(capsys.readouterr().out) < 200


def _interrupting_engine(replies: list[str]) -> EchoEngine:
    """Ctrl-C comes in the middle of the first reply."""
    engine = EchoEngine(replies, step_seconds=0.01)
    steps = iter(range(1_000_000))
    open_context = engine.open_context

    class Interrupting(EchoContext):
        def _row(self, tokens: object) -> None:  # noqa: ARG002
            if next(steps) == 5:
                os.kill(os.getpid(), signal.SIGINT)

    def opened(**_: object) -> EchoContext:
        context = open_context(attention=None)
        context.__class__ = Interrupting
        return context

    engine.open_context = opened  # type: ignore[method-assign]
    return engine


class TestOutput:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    def test_a_terminal_gets_no_control_characters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdout", screen := self.Screen())
        output.write("red \x1b[31mtext\x07\ttab\nline\x9b")
        assert screen.getvalue() == "red [31mtext\ttab\nline"

    def test_a_pipe_gets_the_text_as_it_is(self, capsys: pytest.CaptureFixture[str]) -> None:
        output.write("\x1b[31m")
        assert capsys.readouterr().out == "\x1b[31m"

    @pytest.mark.parametrize(
        ("environ", "is_dim"),
        [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    )
    def test_notices_are_dim_unless_no_color_is_wanted(self, environ: dict[str, str], is_dim: bool) -> None:
        assert output.has_styles(self.Screen(), environ) is is_dim
        assert output.has_styles(io.StringIO(), environ) is False


class TestHistory:
    def test_what_was_typed_is_kept_in_the_data_folder(self, tmp_path: Path) -> None:
        chat._history(tmp_path / "new").store_string("hello")
        assert "+hello" in (tmp_path / "new" / chat.HISTORY_FILE).read_text(encoding="utf-8")

    def test_a_folder_that_cannot_be_made_does_not_hinder_the_chat(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        history = chat._history(tmp_path / "file" / "folder")
        history.append_string("hello")
        assert history.get_strings() == ["hello"]

    def test_a_disk_that_fails_does_not_end_the_chat(self, tmp_path: Path) -> None:
        history = chat._history(tmp_path)
        (tmp_path / chat.HISTORY_FILE).unlink()
        tmp_path.rmdir()
        history.append_string("hello")
        assert history.get_strings() == ["hello"]


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
    # A test's terminal does not answer questions about the cursor.
    return kept | {"HALO_HOME": str(home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}


def _chat_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "halo_weave", "chat", "--temperature", "0", *arguments]


class TestPipe:
    """The real command with the bundled model, without a terminal."""

    def test_each_line_is_a_message_and_only_replies_go_to_stdout(self, tmp_path: Path) -> None:
        done = subprocess.run(
            _chat_command("--max-tokens", "40"),
            input="What is the capital of France?\n\nWhat is the capital of Italy?\n",
            env=_environment(tmp_path),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0
        assert done.stderr == ""
        assert "Paris" in done.stdout
        assert "Rome" in done.stdout
        assert "\x1b" not in done.stdout

    def test_a_reader_that_goes_away_ends_the_chat_quietly(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            _chat_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(tmp_path),
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(b"Tell me a very long story.\n")
            process.stdin.flush()
            process.stdout.read(1)
            process.stdout.close()
            assert process.wait(PATIENCE_S) == 141
            assert process.stderr.read() == b""


PROMPT = r"\n>"

_LAUNCHER = """
import os, sys
terminal = os.open(sys.argv[1], os.O_RDWR)  # the first terminal that a new session opens becomes its own
for stream in (0, 1, 2):
    os.dup2(terminal, stream)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Terminal:
    """A program in a terminal of its own: what it shows can be waited for, and keys can be pressed."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._screen, inner = pty.openpty()
        termios.tcsetwinsize(self._screen, (50, 200))
        launcher = [sys.executable, "-c", _LAUNCHER, os.ttyname(inner), *command]
        self.process = subprocess.Popen(launcher, env=environ, start_new_session=True)
        self._inner: int | None = inner
        self.shown = ""

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def wait_for(self, pattern: str, *, after: int = 0) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.compile(pattern, re.DOTALL).search(self.shown, after)) is None:
            if not self._read(deadline - time.monotonic()):
                pytest.fail(f"{pattern!r} did not come; the terminal shows {self.shown[after:]!r}")
        return found

    def wait_for_end(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._let_go()
        os.close(self._screen)

    def _read(self, seconds: float) -> bool:
        """False if nothing came, or nothing can come any more."""
        if seconds <= 0 or not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._screen, 65_536)
        except OSError:  # Linux says so when the program's side is closed
            return False
        self._let_go()
        text = data.decode("utf-8", "replace").replace("\r", "")
        self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        return bool(data)

    def _let_go(self) -> None:
        """Once the program has the terminal, only it may keep it open, so that its end can be noticed."""
        if self._inner is not None:
            os.close(self._inner)
            self._inner = None


@contextlib.contextmanager
def _terminal(home: Path, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal(_chat_command(*arguments), _environment(home))
    try:
        terminal.wait_for(rf"/quit leaves\..*{PROMPT}")
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def echoing(tmp_path: Path) -> Iterator[Terminal]:
    with _terminal(tmp_path, "--set", "engine.kind=echo") as terminal:
        yield terminal


class TestTerminal:
    """The real command in a pseudo terminal."""

    def test_the_bundled_model_streams_a_reply_which_ctrl_c_stops_and_the_chat_goes_on(self, tmp_path: Path) -> None:
        with _terminal(tmp_path) as terminal:
            assert "context 4,096 tokens · attention yes · editing yes" in terminal.shown
            assert "--model your.gguf" in terminal.shown
            terminal.press("Write a very long story about a ship and its captain.\r")
            asked = terminal.wait_for(r"its captain\..*?\n").end()
            terminal.wait_for(r"\w+ \w+ \w+ \w+", after=asked)  # words are there while more is being written
            terminal.press("\x03")
            stopped = terminal.wait_for(rf"\(stopped\).*{PROMPT}", after=asked).end()
            terminal.press("What is the capital of France?\r")
            terminal.wait_for(f"Paris.*{PROMPT}", after=stopped)
            terminal.press("/quit\r")
            assert terminal.wait_for_end() == 0

    def test_it_helps_and_quits(self, echoing: Terminal) -> None:
        echoing.press("/help\r")
        echoing.wait_for(rf"Ctrl-C       stops a reply.*{PROMPT}")
        echoing.press("/dance\r")
        echoing.wait_for(f"There is no command /dance.*{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0

    def test_ctrl_d_quits(self, echoing: Terminal) -> None:
        echoing.press("\x04")
        assert echoing.wait_for_end() == 0

    def test_ctrl_c_twice_at_an_empty_prompt_quits(self, echoing: Terminal) -> None:
        echoing.press("\x03")
        echoing.wait_for(rf"Ctrl-C once more.*{PROMPT}")
        echoing.press("\x03")
        assert echoing.wait_for_end() == 0

    def test_ctrl_c_clears_what_was_typed(self, echoing: Terminal) -> None:
        echoing.press("this is not said")
        echoing.wait_for("not said")
        echoing.press("\x03")
        echoing.press("but this\r")
        echoing.wait_for(f"You said: but this{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0
        assert "Ctrl-C once more" not in echoing.shown

    @pytest.mark.parametrize(
        "keys",
        [
            "\x1b[200~first line\nsecond line\x1b[201~\r",
            "first line\\\rsecond line\r",
            "first line\x1b\rsecond line\r",
        ],
        ids=["paste", "backslash", "Alt-Enter"],
    )
    def test_a_message_may_have_several_lines(self, echoing: Terminal, tmp_path: Path, keys: str) -> None:
        echoing.press(keys)
        echoing.wait_for(f"You said: first line\nsecond line{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0
        history = (tmp_path / chat.HISTORY_FILE).read_text(encoding="utf-8")
        assert "+first line\n+second line\n" in history


def test_the_bundled_model_answers_in_turns_that_are_whole(llama_engine: Engine) -> None:
    conversation = conversation_with(llama_engine, max_tokens=30, system_prompt=ChatSettings().system_prompt)
    with contextlib.closing(conversation):
        assert "Paris" in "".join(conversation.ask("What is the capital of France?"))
        assert "Rome" in "".join(conversation.ask("What is the capital of Italy?"))
        text = text_of(llama_engine, conversation.tokens)
    assert text.count("<|im_start|>") == text.count("<|im_end|>\n") == 5
    assert "<|im_end|><|im_end|>" not in text
