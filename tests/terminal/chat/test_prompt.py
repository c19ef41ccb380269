"""The prompt's history is kept for the next chat if possible."""

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from halo_weave.terminal.chat.prompt import HISTORY_FILE, history, prompt_session, typed_messages


def test_what_was_typed_is_kept_in_the_data_folder(tmp_path: Path) -> None:
    history(tmp_path / "new").store_string("hello")
    assert "+hello" in (tmp_path / "new" / HISTORY_FILE).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_does_not_hinder_the_chat(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    kept = history(tmp_path / "file" / "folder")
    kept.append_string("hello")
    assert kept.get_strings() == ["hello"]


def test_a_disk_that_fails_does_not_end_the_chat(tmp_path: Path) -> None:
    kept = history(tmp_path)
    (tmp_path / HISTORY_FILE).unlink()
    tmp_path.rmdir()
    kept.append_string("hello")
    assert kept.get_strings() == ["hello"]


def test_a_private_prompt_keeps_no_history_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("Zanzibarium\r")
        messages = typed_messages(lambda: prompt_session(is_kept=False), str)
        assert next(messages) == "Zanzibarium"
    assert not any(b"Zanzibarium" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
