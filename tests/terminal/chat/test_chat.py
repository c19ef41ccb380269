"""The chat loop: it answers messages, reports errors and Ctrl-C, and loses nothing."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoContext, EchoEngine, fading_attention
from halo_weave.engine.protocol import (
    Abilities,
    Ability,
    Attention,
    AttentionChoice,
    GenerationSettings,
    Placed,
    Step,
)
from halo_weave.errors import EngineError, InputError
from halo_weave.session.turn.turn import send
from halo_weave.session.turn.turn_state import Reply
from halo_weave.session.window import window as window_module
from halo_weave.session.window.events import EventLog
from halo_weave.session.window.window import Window
from halo_weave.terminal.chat import chat as chat_command
from halo_weave.terminal.chat.open_chat import window_in_words
from halo_weave.terminal.chat.pending_notices import PendingNotices
from halo_weave.terminal.chat.showing import Showing
from support.chats import SETTINGS, living_texts, opened_chat, say

Captured = pytest.CaptureFixture[str]


def test_welcome_tells_model_context_and_abilities_and_the_way_to_a_better_model() -> None:
    facts = EchoEngine().facts
    assert chat_command.welcome(facts, is_bundled=True).splitlines() == [
        "echo · context 4,096 tokens · attention yes · editing yes",
        "The bundled model is very small and often wrong. Use a larger one with --model your.gguf.",
    ]
    without = Abilities(attention=Ability(False, "the server sends none"), editing=Ability(True))
    shown = chat_command.welcome(msgspec.structs.replace(facts, abilities=without), is_bundled=False)
    assert "attention no (the server sends none)" in shown
    assert "bundled" not in shown


def test_each_message_is_answered_on_lines_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, "one", "", "   ", "two")
    assert capsys.readouterr().out == "You said: one\nYou said: two\n"


def test_what_a_tool_answers_stands_on_a_line_of_its_own(tmp_path: Path, capsys: Captured) -> None:
    replies = ["I look. <tool>list_memory()</tool>", "Nothing there.", "So <tool>no</tool>", ""]
    with opened_chat(tmp_path, replies=replies, is_typed=False) as chat:
        say(chat, "What do you keep?", "And now?")
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == [
        "I look. <tool>list_memory()</tool>",
        "⚙️【list_memory()】→ ✓ nothing is saved yet",
        "Nothing there.",
    ]
    assert shown[3] == "So <tool>no</tool>"
    assert shown[4].startswith("⚙️【no】→ ❌ ")
    assert len(shown) == 5


def test_a_status_line_follows_each_reply_for_somebody_who_types(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, "one")
    assert capsys.readouterr().err.startswith("context ")
    with opened_chat(tmp_path, is_typed=False) as chat:
        say(chat, "two")
    assert capsys.readouterr() == ("You said: two\n", "")


@pytest.mark.parametrize(
    "message", ["/usr/bin holds programs", "/* a comment */", "/help\nme", " /help", "/dance\nnow"]
)
def test_what_only_looks_like_a_command_is_said(tmp_path: Path, capsys: Captured, message: str) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, message)
    assert capsys.readouterr().out == f"You said: {message}\n"


def test_an_unknown_command_says_so(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, "/dance now")
    assert capsys.readouterr() == ("", "Unknown command /dance; type /help for a list.\n")


def test_what_could_not_be_sent_is_told_and_comes_back_to_the_prompt(tmp_path: Path, capsys: Captured) -> None:
    message = "too long " * 100
    with opened_chat(tmp_path, EchoEngine(context_tokens=300)) as chat:
        say(chat, message)
        assert chat.take_draft() == message.rstrip()
        assert chat.take_draft() == ""
        say(chat, "short")
    shown = capsys.readouterr()
    assert shown.err.startswith("halo-weave: The message does not fit in the context of 300 tokens: ")
    assert shown.out == "You said: short\n"


def test_over_a_pipe_an_error_ends_the_chat(tmp_path: Path) -> None:
    with (
        opened_chat(tmp_path, EchoEngine(context_tokens=300), is_typed=False) as chat,
        pytest.raises(InputError, match="does not fit"),
    ):
        say(chat, "too long " * 100, "short")


def test_bytes_that_are_no_text_do_not_end_the_chat(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, b"caf\xe9".decode("utf-8", "surrogateescape"))
    assert capsys.readouterr().out == "You said: caf?\n"


def test_a_cut_reply_and_a_silent_one_are_told(tmp_path: Path, capsys: Captured) -> None:
    short = msgspec.structs.replace(SETTINGS, generation=GenerationSettings(max_tokens=2, temperature=0))
    with opened_chat(tmp_path, replies=["", "a long reply"], settings=short) as chat:
        say(chat, "one", "two")
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("(")]
    assert told == [
        "(the model gave an empty reply)",
        "(reached the maximum length; /continue for more, --max-tokens for longer replies)",
    ]


def test_the_handler_of_ctrl_c_is_put_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with opened_chat(tmp_path) as chat:
        say(chat, "one", "/stats")
    assert signal.getsignal(signal.SIGINT) is before


def interrupting_engine(replies: Sequence[str]) -> EchoEngine:
    """An engine that triggers Ctrl-C in the middle of the first reply."""
    steps = iter(range(1_000_000))

    def attention(tokens: Sequence[Placed]) -> Attention:
        if next(steps) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return fading_attention(tokens)

    return EchoEngine(replies, attention=attention, step_seconds=0.01)


LONG = msgspec.structs.replace(SETTINGS, generation=GenerationSettings(max_tokens=600, temperature=0))


def test_ctrl_c_stops_the_reply_and_keeps_it_marked_and_the_chat_goes_on(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path, interrupting_engine(["word " * 300, "And on."]), settings=LONG) as chat:
        say(chat, "one", "two")
        shown = capsys.readouterr()
        partial, rest = shown.out.split("\n", 1)
        assert 0 < len(partial) < 400
        assert rest == "And on.\n"
        assert "(stopped)\n" in shown.err
        stored = chat.memory.chunks_of_turn(2)[0].chunk
        assert stored.text.rstrip() == partial.rstrip()
        assert (stored.metadata or {})["ending"] == "stopped"


def test_over_a_pipe_ctrl_c_ends_the_chat_and_keeps_what_came(tmp_path: Path, capsys: Captured) -> None:
    engine = interrupting_engine(["word " * 300])
    with opened_chat(tmp_path, engine, settings=LONG, is_typed=False) as chat:
        with pytest.raises(KeyboardInterrupt):
            say(chat, "one", "two")
        assert chat.memory.chunks_of_turn(2)[0].chunk.text.rstrip() == capsys.readouterr().out.rstrip()
        assert chat.window.messages == 1


class FailingContext(EchoContext):
    """Fails in the middle of the first reply, as if the engine went away."""

    has_failed = False

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        for number, step in enumerate(super().generate(settings, positions, cancellation=cancellation)):
            if number == 4 and not self.has_failed:
                self.has_failed = True
                raise EngineError("The model is gone.")
            yield step


class FailingEngine(EchoEngine):
    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> EchoContext:  # noqa: B008
        return FailingContext(self, attention, fading_attention, 0.0)


def test_an_engine_that_goes_away_in_a_reply_is_told_and_one_can_go_on(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path, FailingEngine(["a reply of many words", "and the rest"])) as chat:
        say(chat, "one")
        shown = capsys.readouterr()
        assert "halo-weave: The model is gone." in shown.err
        assert shown.out.startswith("a reply")
        assert chat.take_draft() == ""
        assert "/continue to resume" in capsys.readouterr().err
        say(chat, "/continue", "two")
        assert living_texts(chat)[0] == "one"
    assert capsys.readouterr().out.startswith("and the rest\nYou said: two")


def test_a_reader_that_is_far_behind_still_gets_the_whole_reply(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old events are dropped after a while; the end of the reply fills the gap."""
    remembered = 64
    monkeypatch.setattr(window_module, "EventLog", lambda: EventLog(remembered))
    engine = EchoEngine(["word " * remembered * 4], context_tokens=4000)
    settings = msgspec.structs.replace(SETTINGS, generation=GenerationSettings(max_tokens=3000, temperature=0))
    show_new = Showing.show_new

    def behind(showing: Showing, timeout_s: float) -> None:
        if not showing._window.doing:
            show_new(showing, timeout_s)

    monkeypatch.setattr(Showing, "show_new", behind)
    with opened_chat(tmp_path, engine, settings=settings) as chat:
        say(chat, "one")
    assert capsys.readouterr().out == "word " * remembered * 4 + "\n"


def test_a_restart_goes_on_in_the_same_window(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        assert window_in_words(chat.window) == "New window main."
        say(chat, "one", "two")
        before = living_texts(chat)
    with opened_chat(tmp_path) as chat:
        assert living_texts(chat) == before == ["one", "You said: one", "two", "You said: two"]
        words = window_in_words(chat.window)
        assert words.startswith("Window main: 4 chunks in context, 0 archived; last message 20")
        say(chat, "three")
    assert capsys.readouterr().out.endswith("You said: three\n")


def test_ctrl_c_before_the_reply_has_begun_is_not_lost(tmp_path: Path) -> None:
    endings = []

    def late(window: Window, *, cancellation: Cancellation) -> Reply:
        os.kill(os.getpid(), signal.SIGINT)
        assert cancellation.wait(60)
        reply = send(window, "one", cancellation=cancellation)
        endings.append(reply.ending)
        return reply

    with opened_chat(tmp_path) as chat:
        chat.answer(late)
        say(chat, "two")
        assert living_texts(chat)[:2] == ["one", "two"]
    assert endings == ["stopped"]


def test_a_long_reading_is_shown_on_a_line_that_the_reply_replaces(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        chat.is_typed = True
        showing = Showing(chat.window, PendingNotices(), is_typed=True)
        chat.window.log.tell("status", text="reading: 64 of 640 tokens, about 9 s left", read=64, total=640)
        showing.show_new(0)
        assert "reading: 64 of 640 tokens, about 9 s left (Ctrl-C stops)" in capsys.readouterr().err
        chat.window.log.tell("status", text="writing")
        showing.show_new(0)
        assert capsys.readouterr().err == "\r\x1b[K"
