"""A private window reads the memory and writes nothing: not to its file, nor to any other."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.actions.capture import start_capture
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.private_windows import PRIVATE_ID, PrivateWindows
from halo_weave.session.window.window import Window
from support.tool_windows import hub_with_tools
from support.windows import PLAIN, SIZES, Clock, living, long_text, opened_hub, seen_text, weave

SECRET = "The amber lighthouse keeps a secret named Zanzibarium."


def dump(path: Path) -> dict[str, list[object]]:
    """All rows of all tables; those of the word index are in tables of their own."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute(tables)]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def assert_nowhere(folder: Path, *texts: str) -> None:
    for file in (one for one in folder.rglob("*") if one.is_file()):
        content = file.read_bytes()
        assert not [text for text in texts if text.encode() in content], file


def use_fully(window: Window) -> None:
    """Do everything that would write in another window."""
    send(window, SECRET)
    send(window, long_text(12, "Zanzibarium"))
    actions.regenerate(window)
    newest = window.newest
    assert newest is not None
    actions.edit_reply(window, newest.turn_assistant, "Zanzibarium, rewritten.")
    continue_reply(window)
    actions.pin(window, living(window)[-1][0])
    gone = actions.delete(window, living(window)[-1][0], exchange=True)
    actions.undelete(window, gone.keys)
    window.change(overrides={"chat.system_prompt": "Zanzibarium matters."})


def test_everything_done_in_a_private_window_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", settings=weave(budget_tokens=120, resurrection=True)) as hub:
        send(hub.open("main"), "The gardener keeps the copper key under the blue tile.")
        hub.open("main").memory.settle()
        before = dump(tmp_path / "halo.db")
        window = hub.open_private()
        use_fully(window)
        assert window.life.burial_log
        assert dump(tmp_path / "halo.db") == before
        assert_nowhere(tmp_path, "Zanzibarium")
        hub.close_window(window)
        assert dump(tmp_path / "halo.db") == before
    assert_nowhere(tmp_path, "Zanzibarium", PRIVATE_ID)


def test_a_private_window_brings_back_what_others_said(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", settings=weave(resurrection=True)) as hub:
        send(hub.open("main"), "The gardener Ottoline keeps the copper key under the third blue tile.")
        window = hub.open_private()
        send(window, "Where does the gardener Ottoline keep the copper key of the blue tile?")
        assert "third blue tile" in seen_text(window)
        assert any(chunk.returned for chunk in window.life.context)


def test_what_was_said_privately_returns_in_no_other_window(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", settings=weave(resurrection=True)) as hub:
        send(hub.open_private(), SECRET)
        other = hub.open("main")
        send(other, "What secret does the amber lighthouse keep?")
        assert "Zanzibarium" not in seen_text(other)


def test_a_closed_private_window_is_gone(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open_private()
        assert [one.id for one in hub.windows()] == [window.id]
        hub.close_window(window)
        assert hub.windows() == []
        assert hub.open(window.name).id != window.id


def test_a_private_window_goes_on_with_another_engine_of_the_same_program(tmp_path: Path) -> None:
    private = PrivateWindows()
    with opened_hub(tmp_path / "halo.db") as hub:
        memory = hub.open("main").memory
        first = Hub(EchoEngine(), memory, PLAIN, SIZES, Clock(), private=private)
        window = first.open_private()
        send(window, SECRET)
        words = living(window)
        first.close()
        second = Hub(EchoEngine(), memory, PLAIN, SIZES, Clock(), private=private)
        assert living(second.open(window.id)) == words
        second.close()


def test_the_memory_cannot_be_changed_from_a_private_window(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        send(hub.open("main"), "The gardener keeps the copper key under the blue tile.")
        key = living(hub.open("main"))[0][0]
        before, window = dump(tmp_path / "halo.db"), hub.open_private()
        actions.resurrect(window, key)
        with pytest.raises(InputError, match="This window is private"):
            actions.delete(window, key)
        with pytest.raises(InputError, match="This window is private"):
            actions.undelete(window, [key])
        assert key in window.life.context
        assert dump(tmp_path / "halo.db") == before


def test_tools_read_for_a_private_window_and_change_nothing(tmp_path: Path) -> None:
    calls = [
        '<tool>save_memory("User/Pets", {"cat": "Zanzibarium"})</tool>',
        "<tool>jq '.topics.cat = \"Zanzibarium\"' notes.json > output</tool>",
        '<tool>query_memory("User/House")</tool>',
        '<tool>delete_memory("User/House")</tool>',
    ]
    with hub_with_tools(tmp_path / "halo.db", [*calls, "Done."]) as hub:
        window = hub.open_private()
        assert window.toolbox is not None
        window.toolbox.tree.save("User/House", {"colour": "blue"}, origin="test")
        before = dump(tmp_path / "halo.db")
        send(window, "Please note it.")
        results = [str(call["result"]) for call in window.tool_calls]
        assert [("private" in result, "blue" in result) for result in results] == [
            (True, False),
            (True, False),
            (False, True),
            (True, False),
        ]
        assert dump(tmp_path / "halo.db") == before


def test_a_private_window_cannot_be_captured(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open_private()
        with pytest.raises(InputError, match="private"):
            start_capture(window, tmp_path / "capture")
        assert not (tmp_path / "capture").exists()


def test_turns_and_positions_of_a_private_window_are_never_those_of_the_memory(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open_private()
        send(window, SECRET)
        for _ in range(3):
            send(hub.open("main"), "Said meanwhile.")
        send(window, "And more.")
        shared = {key for key, _ in living(hub.open("main"))}
        assert not shared & {key for key, _ in living(window)}
        assert window.memory.chunk(ChunkKey(1, 0, "user")) is not None
        assert hub.open("main").memory.chunk(living(window)[0][0]) is None


def test_a_private_window_keeps_its_name_which_may_be_in_the_log(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open_private()
        with pytest.raises(InputError, match="cannot be renamed"):
            hub.rename(window, "Zanzibarium")
        send(window, SECRET)
        assert window.name == "Private window"
