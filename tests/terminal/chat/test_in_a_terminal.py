"""The real command, over a pipe and in a pseudo-terminal."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.terminal.chat.prompt import HISTORY_FILE
from support.terminals import PATIENCE_S, PROMPT, Terminal, chat_command, chat_terminal, environment

TIMELESS = ("--set", "weave.show_times=false")
"""The model's input must not depend on when the test runs."""
ECHO = ("--set", "engine.kind=echo", *TIMELESS)


@pytest.fixture
def echoing(tmp_path: Path) -> Iterator[Terminal]:
    with chat_terminal(tmp_path, *ECHO) as terminal:
        yield terminal


class TestPipe:
    def chat(self, home: Path, messages: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            chat_command(*arguments),
            input=messages,
            env=environment(home),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
        )

    def test_each_line_is_a_message_and_only_replies_go_to_stdout(self, tmp_path: Path) -> None:
        questions = "What is the capital of France?\n\nWhat is the capital of Italy?\n"
        done = self.chat(tmp_path, questions, "--max-tokens", "40", *TIMELESS)
        assert done.returncode == 0
        assert "Paris" in done.stdout
        assert "Rome" in done.stdout
        assert "\x1b" not in done.stdout
        assert "context" not in done.stdout + done.stderr

    def test_an_error_ends_it_with_its_exit_code_and_what_was_answered_is_kept(self, tmp_path: Path) -> None:
        done = self.chat(tmp_path, "one\n/pin 77\ntwo\n", *ECHO)
        assert (done.returncode, done.stdout) == (2, "You said: one\n")
        assert "halo-weave: There is no turn 77 in the memory.\n" in done.stderr
        again = self.chat(tmp_path, "three\n/heat\n", *ECHO)
        assert again.returncode == 0
        assert "1:0 (user)" in again.stdout

    def test_a_chunk_is_embedded_before_the_end_or_at_the_next_start(self, tmp_path: Path) -> None:
        self.chat(tmp_path, "one\n", *ECHO)
        self.chat(tmp_path, "\n", *ECHO)
        store = SqliteStore(tmp_path / "halo.db")
        assert sum(store.stats().vectors.values()) == 2
        store.close()

    def test_a_reader_that_goes_away_ends_the_chat_quietly_and_the_reply_is_kept(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            chat_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(tmp_path),
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"Tell me a very long story.\n")
            process.stdin.flush()
            process.stdout.read(1)
            process.stdout.close()
            assert process.wait(PATIENCE_S) == 141
        store = SqliteStore(tmp_path / "halo.db")
        (answer,) = store.chunks_of_turn(2)[:1]
        assert answer.chunk.metadata is not None
        assert answer.chunk.metadata["ending"] == "stopped"
        store.close()


class TestBundledModel:
    def test_a_reply_streams_is_stopped_by_ctrl_c_and_a_restart_goes_on_in_the_same_window(
        self, tmp_path: Path
    ) -> None:
        with chat_terminal(tmp_path, *TIMELESS) as terminal:
            assert "context 4,096 tokens · attention yes · editing yes" in terminal.shown
            assert "--model your.gguf" in terminal.shown
            assert "New window main." in terminal.shown
            terminal.press("Write a very long story about a ship and its captain.\r")
            asked = terminal.wait_for(r"its captain\..*?\n").end()
            terminal.wait_for(r"\w+ \w+ \w+ \w+", after=asked)  # some words are shown while more are being written
            terminal.press("\x03")
            stopped = terminal.wait_for(rf"\(stopped\).*context \d+/2,048 · .*{PROMPT}", after=asked).end()
            # The next reply depends on how far the story got, and so on the machine.
            terminal.press("What is the capital of France?\r")
            answered = terminal.wait_for(rf"France\?\n\w+.* tokens/s.*{PROMPT}", after=stopped).end()
            terminal.press("/heat\r")
            terminal.wait_for(rf"3:0 \(user\) .*What is the capital of France\?.*{PROMPT}", after=answered)
            assert "\x1b[38;5;" in terminal.raw
            terminal.press("/quit\r")
            assert terminal.wait_for_end() == 0
        with chat_terminal(tmp_path, *TIMELESS) as terminal:
            assert "Window main: " in terminal.shown
            assert "; last message 20" in terminal.shown
            begun = len(terminal.shown)
            terminal.press("/heat\r")
            terminal.wait_for(rf"1:0 \(user\) .*a ship and its captain\..*capital of France.*{PROMPT}", after=begun)
            terminal.press("And the capital of Italy?\r")
            terminal.wait_for(rf"Italy\?\n\w+.*context .*{PROMPT}", after=begun)
            terminal.press("\x04")
            assert terminal.wait_for_end() == 0


class TestKeys:
    def test_it_helps_and_quits(self, echoing: Terminal) -> None:
        echoing.press("/help\r")
        echoing.wait_for(rf"Ctrl-C +stop the reply.*{PROMPT}")
        echoing.press("/dance\r")
        echoing.wait_for(f"Unknown command /dance.*{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0

    def test_ctrl_d_quits(self, echoing: Terminal) -> None:
        echoing.press("\x04")
        assert echoing.wait_for_end() == 0

    def test_ctrl_c_twice_at_an_empty_prompt_quits(self, echoing: Terminal) -> None:
        echoing.press("\x03")
        echoing.wait_for(rf"Press Ctrl-C again.*{PROMPT}")
        echoing.press("\x03")
        assert echoing.wait_for_end() == 0

    def test_ctrl_c_clears_what_was_typed(self, echoing: Terminal) -> None:
        echoing.press("this is not said")
        echoing.wait_for("not said")
        echoing.press("\x03")
        echoing.press("but this\r")
        echoing.wait_for(f"You said: but this\n.*{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0
        assert "Press Ctrl-C again" not in echoing.shown

    def test_a_deleted_answers_question_stands_at_the_prompt_to_be_sent_again(self, echoing: Terminal) -> None:
        echoing.press("a question\r")
        answered = echoing.wait_for(f"You said: a question\n.*{PROMPT}").end()
        echoing.press("/delete 2\r")
        deleted = echoing.wait_for(rf"2 chunks deleted.*{PROMPT} a question", after=answered).end()
        echoing.press(" indeed\r")
        echoing.wait_for(f"You said: a question indeed\n.*{PROMPT}", after=deleted)

    def test_a_killed_chat_goes_on_where_it_was(self, tmp_path: Path, echoing: Terminal) -> None:
        echoing.press("one\r")
        echoing.wait_for(f"You said: one\n.*{PROMPT}")
        echoing.process.send_signal(signal.SIGKILL)
        echoing.wait_for_end()
        with chat_terminal(tmp_path, *ECHO) as again:
            assert "Window main: 2 chunks in context, 0 archived; last message 20" in again.shown

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
        echoing.wait_for(f"You said: first line\nsecond line\n.*{PROMPT}")
        echoing.press("/quit\r")
        assert echoing.wait_for_end() == 0
        history = (tmp_path / HISTORY_FILE).read_text(encoding="utf-8")
        assert "+first line\n+second line\n" in history
