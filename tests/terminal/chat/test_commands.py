"""The slash commands."""

from pathlib import Path

import msgspec
import pytest

from halo_weave.errors import InputError
from halo_weave.session.actions.reflection import reflect
from halo_weave.session.turn.turn import send
from halo_weave.terminal.chat.commands import COMMANDS, SlashCall, called
from halo_weave.terminal.chat.open_chat import OpenChat, opened_window, window_in_words
from halo_weave.weave.captured import Captured as ReadCapture
from halo_weave.weave.settings import WeaveSettings
from support.chats import SETTINGS, living_texts, opened_chat, say

Captured = pytest.CaptureFixture[str]
# Kept by brightness, the oldest leave first here, whatever they say.
TIGHT = msgspec.structs.replace(
    SETTINGS, weave=WeaveSettings(show_times=False, budget_tokens=90, keeps_by="brightness")
)
"""A budget so small that earlier exchanges are buried."""
FACTS = ("The cat is called Mimi.", "The dog is called Rex.", "The parrot is called Ada.", "The fish is called Bo.")


def graves(chat: OpenChat) -> list[tuple[int, str]]:
    return sorted((key.turn, key.role) for key in chat.window.life.burial_log)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/stats", SlashCall("stats", "")),
        ("/pin  12:0 ", SlashCall("pin", "12:0")),
        ("/edit two\nlines", SlashCall("edit", "two\nlines")),
        ("/dance now", SlashCall("dance", "now")),
        ("/pin 12\nlines", None),
        ("/home/me", None),
        ("say /stats", None),
    ],
)
def test_commands_are_told_from_messages(text: str, expected: SlashCall | None) -> None:
    assert called(text) == expected


def test_help_names_every_command_and_quit_ends(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, "/help", "/quit", "never said")
    shown = capsys.readouterr().out
    assert all(f"/{name}" in shown for name in (*COMMANDS, "help", "quit"))
    assert "never said" not in shown


class TestWindows:
    def test_each_window_has_its_own_conversation_and_the_open_one_is_marked(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "/window other", "two", "/windows")
            assert "\n* other  saved " in capsys.readouterr().out
            assert [one.name for one in chat.hub.windows() if one.is_open] == ["other"]
            say(chat, "/window main")
            assert living_texts(chat) == ["one", "You said: one"]
            assert "Window main: 2 chunks in context" in capsys.readouterr().err

    def test_the_same_window_is_opened_anew(self, tmp_path: Path) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one")
            before = chat.window
            say(chat, "/window main")
            assert chat.window is not before
            say(chat, "two")
            assert living_texts(chat) == ["one", "You said: one", "two", "You said: two"]

    def test_a_window_that_another_program_changed_catches_up_and_goes_on(
        self, tmp_path: Path, capsys: Captured
    ) -> None:
        with opened_chat(tmp_path) as chat:
            with opened_chat(tmp_path) as other:
                say(other, "one")
            capsys.readouterr()
            say(chat, "two")
            assert "program" not in capsys.readouterr().err
            assert living_texts(chat) == ["one", "You said: one", "two", "You said: two"]

    def test_a_window_without_a_name_is_refused_and_nothing_changes(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "/window", f"/window {'x' * 300}", "still here")
            assert chat.window.name == "main"
        shown = capsys.readouterr()
        assert shown.err.count("halo-weave: ") == 2
        assert shown.out == "You said: still here\n"


class TestGraveyard:
    def test_what_was_buried_is_told_listed_and_can_be_brought_back(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, settings=TIGHT) as chat:
            say(chat, "/graveyard", *FACTS)
            shown = capsys.readouterr()
            assert shown.out.startswith("Nothing in this window has been archived.\n")
            assert "(archived 1:0: Left because it received least attention" in shown.err
            buried = graves(chat)
            assert (1, "user") in buried
            say(chat, "/graveyard")
            listed = capsys.readouterr().out
            assert listed.count(" · peak ") == len(buried)
            assert "1:0 (user) · peak " in listed
            assert "The cat is called Mimi." in listed
            assert "    Left because it received least attention" in listed
            say(chat, "/resurrect 1:0")
            assert "(returned 1:0 “The cat is called Mimi.”: Brought back by hand)" in capsys.readouterr().err
            assert living_texts(chat)[0] == FACTS[0]
            assert [chunk.key.turn for chunk in chat.window.life.context if chunk.is_pinned] == [1]

    def test_it_shows_as_many_as_wanted(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, settings=TIGHT) as chat:
            say(chat, *FACTS)
            capsys.readouterr()
            say(chat, "/graveyard 1", "/graveyard many")
            shown = capsys.readouterr()
            assert shown.out.count(" · peak ") == 1
            assert f"({len(graves(chat)) - 1} more; " in shown.out
            assert "'many' is not a number" in shown.err

    def test_what_returns_with_a_message_is_told_with_the_reason(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, settings=TIGHT) as chat:
            say(chat, *FACTS, "What is the cat called?")
            assert "(returned 1:0 “The cat is called Mimi.”: Found by " in capsys.readouterr().err


class TestPins:
    def test_a_pinned_chunk_stays_and_an_unpinned_one_may_go(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, settings=TIGHT) as chat:
            say(chat, FACTS[0], "/pin 1", *FACTS[1:])
            assert "(1 chunk pinned; " in capsys.readouterr().err
            assert (1, "user") not in graves(chat)
            assert (3, "user") in graves(chat)
            say(chat, "/unpin 1:0 user", *FACTS[1:])
            assert (1, "user") in graves(chat)

    @pytest.mark.parametrize(
        ("command", "told"),
        [
            ("/pin", "'' is not a turn or chunk"),
            ("/pin first", "'first' is not a turn or chunk; write TURN or TURN:CHUNK, such as 12 or 12:0."),
            ("/pin 77", "There is no turn 77 in the memory."),
            ("/pin 1:5", "There is no chunk 1:5 in the memory."),
            ("/pin 1 nobody", "'nobody' is not a role"),
            ("/pin 1 assistant", "There is no chunk of the assistant at 1."),
            ("/resurrect 1", "Chunk 1:0 (user) is already in context; pin it to keep it there."),
        ],
    )
    def test_what_cannot_be_done_is_told(self, tmp_path: Path, capsys: Captured, command: str, told: str) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one")
            capsys.readouterr()
            say(chat, command)
        assert told in capsys.readouterr().err

    def test_over_a_pipe_it_ends_the_chat(self, tmp_path: Path) -> None:
        with opened_chat(tmp_path, is_typed=False) as chat, pytest.raises(InputError, match="no turn 77"):
            say(chat, "/pin 77", "one")


class TestDeletion:
    def test_the_newest_answer_hands_the_question_back_to_the_prompt(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "two", "/delete 4")
            assert living_texts(chat) == ["one", "You said: one"]
            assert "(2 chunks deleted in all windows; /undo restores)" in capsys.readouterr().err
            assert chat.take_draft() == "two"

    def test_undo_takes_the_last_deletion_back_and_then_the_one_before(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "two", "/delete 1", "/delete 4")
            assert living_texts(chat) == []
            say(chat, "/undo")
            assert living_texts(chat) == ["two", "You said: two"]
            assert chat.take_draft() == ""
            say(chat, "/undo")
            assert living_texts(chat) == ["one", "You said: one", "two", "You said: two"]
            capsys.readouterr()
            say(chat, "/undo")
        assert "Nothing to undo" in capsys.readouterr().err

    def test_after_undo_the_question_can_be_asked_again(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "/delete 2", "/undo")
            capsys.readouterr()
            say(chat, "/regenerate")
        assert capsys.readouterr().out == "You said: one\n"

    def test_what_is_deleted_already_is_told(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "/delete 1", "/delete 1")
        assert "Chunk 1:0 (user) is not in the memory, or has already been deleted." in capsys.readouterr().err


class TestAskingAgain:
    def test_regenerate_has_the_question_answered_anew(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, replies=["Bad.", "Good."]) as chat:
            say(chat, "one", "/regenerate")
            assert living_texts(chat) == ["one", "Good."]
        assert capsys.readouterr().out == "Bad.\nGood.\n"

    def test_continue_writes_on(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, replies=["The beginning", " and the end."]) as chat:
            say(chat, "one", "/continue")
            assert "".join(living_texts(chat)) == "oneThe beginning and the end."
        assert capsys.readouterr().out == "The beginning\n and the end.\n"

    def test_edit_asks_in_other_words(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "one", "/edit")
            assert chat.take_draft() == "/edit one"
            say(chat, "/edit two\nlines")
            assert living_texts(chat) == ["two\nlines", "You said: two\nlines"]
        assert capsys.readouterr().out == "You said: one\nYou said: two\nlines\n"

    def test_correct_puts_other_words_in_the_place_of_the_reply(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, replies=["Wrong.", " And on."]) as chat:
            say(chat, "one", "/correct")
            assert chat.take_draft() == "/correct Wrong."
            say(chat, "/correct Right\nand proper.", "/continue")
            assert "".join(living_texts(chat)) == "oneRight\nand proper. And on."
        shown = capsys.readouterr()
        assert shown.out == "Wrong.\n And on.\n"
        assert "(reply replaced; /continue to go on from it)" in shown.err
        assert "meanwhile" not in shown.err

    @pytest.mark.parametrize("command", ["/regenerate", "/continue", "/edit", "/edit two", "/correct", "/correct two"])
    def test_without_a_question_it_is_told(self, tmp_path: Path, capsys: Captured, command: str) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, command)
        assert capsys.readouterr().err.startswith("halo-weave: The window main ")

    def test_reflect_asks_for_a_summary_that_is_marked(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path, replies=["Hi.", "We said hello."]) as chat:
            say(chat, "hello", "/reflect")
            assert all((entry.chunk.metadata or {})["reflection"] for entry in chat.memory.chunks_of_turn(4))
        assert capsys.readouterr().out == "Hi.\nWe said hello.\n"


class TestViews:
    def test_search_finds_what_was_said_in_any_window(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, FACTS[0], "/window other")
            capsys.readouterr()
            say(chat, "/search Mimi", "/search")
        shown = capsys.readouterr()
        assert "1:0 (user)" in shown.out
        assert "Nothing to search for" in shown.err

    def test_stats_tell_window_model_context_and_memory(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "/stats", "one")
            capsys.readouterr()
            say(chat, "/pin 1", "/stats")
        rows = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
        assert rows["Window"].strip() == "main, 1 message"
        assert rows["Model"].strip() == "echo, brightness by magnitude_v3"
        assert rows["Context"].strip().endswith("tokens, budget 2,048, 4,096 usable")
        assert rows["Chunks"].strip() == "2 in context (1 pinned), 0 archived"
        assert rows["Memory"].strip().startswith("2 chunks, ")

    def test_heat_shows_every_living_word(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "/heat")
            assert capsys.readouterr().out == "The context is empty.\n"
            say(chat, "one", "/pin 1", "/heat")
        shown = capsys.readouterr().out
        assert "[1:0 (user) · " in shown
        assert " · pinned]" in shown
        assert "You said: one" in shown


class TestSystemPrompt:
    def test_it_is_this_windows_own_survives_a_restart_and_can_be_unset(self, tmp_path: Path, capsys: Captured) -> None:
        with opened_chat(tmp_path) as chat:
            say(chat, "/system", "/system Speak\nlike a pirate.", "/system")
            assert capsys.readouterr().out == "Be kind.\nSpeak\nlike a pirate.\n"
        with opened_chat(tmp_path) as chat:
            assert chat.window.settings.chat.system_prompt == "Speak\nlike a pirate."
            say(chat, "/window other", "/system", "/window main", "/system -", "/system")
        assert capsys.readouterr().out == "Be kind.\nBe kind.\n"


class TestCapture:
    def test_it_writes_what_the_model_saw_until_it_is_stopped(self, tmp_path: Path, capsys: Captured) -> None:
        folder = tmp_path / "capture"
        with opened_chat(tmp_path) as chat:
            say(chat, f"/capture {folder}", "one", "/capture stop", "two", "/capture stop", "/capture")
        shown = capsys.readouterr()
        assert "is not being captured" in shown.err
        assert "Name a new folder" in shown.err
        assert "".join(step.text for step in ReadCapture(folder).steps()) == "You said: one"


def test_a_window_that_reflects_gives_way_to_somebody_who_speaks(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path, replies=["Hi.", "A summary."]) as chat:
        say(chat, "hello")
        capsys.readouterr()
        reflect(chat.window)
        say(chat, "/stats")
        assert "(the model has summarised the conversation; /heat to see it)" in capsys.readouterr().err


def test_recall_is_turned_on_and_off_in_this_window_alone(tmp_path: Path, capsys: Captured) -> None:
    with opened_chat(tmp_path) as chat:
        say(chat, "/system Be brief.", "/recall off")
        assert not chat.window.settings.weave.resurrection
        say(chat, "/recall on", "/recall")
        assert chat.window.overrides == {"chat.system_prompt": "Be brief.", "weave.resurrection": True}
        assert "(recall is on in this window)" in capsys.readouterr().err


def test_a_fresh_window_of_the_terminal_starts_without_recall_and_gets_a_title(tmp_path: Path) -> None:
    with opened_chat(tmp_path) as chat:
        window = opened_window(chat.hub, "ignored", "fresh")
        assert not window.settings.weave.resurrection
        assert "without recall" in window_in_words(window)
        send(window, "Tell me about storks.")
        assert window.name == "Tell me about storks"


def test_a_private_window_of_the_terminal_says_so_and_its_commands_find_its_text(
    tmp_path: Path, capsys: Captured
) -> None:
    with opened_chat(tmp_path, replies=["Understood."]) as chat:
        chat.window = opened_window(chat.hub, "ignored", "private")
        assert "PRIVATE WINDOW" in window_in_words(chat.window)
        send(chat.window, "Zanzibarium")
        turn = min(chunk.key.turn for chunk in chat.window.life.context)
        say(chat, f"/pin {turn}:0")
        assert "1 chunk pinned" in capsys.readouterr().err
