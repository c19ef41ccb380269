"""Reopening a window: after closing, after a crash, with another model, and after others changed the memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.errors import InputError, StoreDamaged
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.tokens import Token
from halo_weave.session.actions import actions
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.journal import Journal, noted
from halo_weave.session.window.saved_window import SavedWindow, decoded, encoded
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import Word
from support.windows import (
    PLAIN,
    Happening,
    brightness,
    held_text,
    is_ascending,
    living,
    long_text,
    notices,
    opened_hub,
    seen_text,
    stored_text,
    weave,
    with_section,
)

QUESTION, ANSWER = ChunkKey(1, 0, "user"), ChunkKey(2, 0, "assistant")
SMALL = weave(with_section(PLAIN, "generation", max_tokens=80), budget_tokens=200)


class LetterEngine(EchoEngine):
    """A different tokenizer: each token is one character."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = msgspec.structs.replace(self.facts, name="letters", vocabulary_size=1000)

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        if special:
            return super().tokenize(text, special=True)
        return [Token(ord(letter), letter) for letter in text]


@contextmanager
def reopened(path: Path, engine: Engine | None = None, settings: WindowSettings = SMALL) -> Iterator[Window]:
    with opened_hub(path, engine, settings) as hub:
        yield hub.open("river")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


def everything(window: Window) -> object:
    return (
        brightness(window),
        [(chunk.key, chunk.first_position, chunk.is_pinned, chunk.turn_start) for chunk in window.life.context],
        window.life.layout().placed,
        dict(window.life.burial_log),
        window.life.current,
        window.newest,
        window.messages,
        dict(window.overrides),
        window.budget,
    )


def test_after_a_restart_the_same_tokens_live_with_the_same_brightness_and_it_goes_on(path: Path) -> None:
    with reopened(path) as window:
        for number in range(9):
            send(window, f"Tell me of number {number}.")
        actions.pin(window, next(iter(window.life.context)).key)
        window.set_overrides({"generation.max_tokens": 70})
        before = everything(window)
        assert window.life.burial_log
    with reopened(path) as window:
        assert everything(window) == before
        assert continue_reply(window).text
        reply = send(window, "Go on.")
        assert reply.ending == "end"
        assert held_text(window).endswith(reply.text)


@pytest.mark.parametrize("crash", ["before the message", "before the reply", "in the reply", "before it is cleared"])
def test_what_a_crash_cut_off_is_brought_to_an_end(path: Path, crash: str) -> None:
    """With the journal and the memory as they are when a process dies at each of these moments."""
    with reopened(path) as window:
        send(window, "How long is the river?")
        window_id, store = window.id, window.memory.store
        reserved = window.memory.reserve(200)
        turn, first = reserved.turn_assistant, reserved.position_start
        journal = Journal(store, window_id, turn)
        journal.begin(reserved.turn_user, window.clock(), {"mood": "curious"})
        question = window.memory.chunks_of_turn(1)[0].chunk
        later = {"key": ChunkKey(turn - 1, 0, "user"), "first_position": first}
        if crash != "before the message":
            window.memory.write([msgspec.structs.replace(question, **later)])
        if crash in ("in the reply", "before it is cleared"):
            with journal:
                for place, token in enumerate(window.engine.tokenize("It is very lo")):
                    journal.add(Word(first + 100 + place, token.id, token.text))
        if crash == "before it is cleared":
            answer = window.memory.chunks_of_turn(2)[0].chunk
            whole = msgspec.structs.replace(answer, key=ChunkKey(turn, 0, "assistant"), first_position=first + 100)
            window.memory.write([whole])
    with reopened(path) as window:
        assert noted(window.memory.store, window_id) == {}
        stored = [entry.chunk for entry in window.memory.chunks_of_turn(turn)]
        if crash == "before the message":
            assert window.newest is not None
            assert window.newest.turn_assistant == 2
        else:
            assert ChunkKey(turn - 1, 0, "user") in window.life.context
        if crash == "in the reply":
            assert stored_text(window.memory, turn) == "It is very lo"
            assert {(chunk.metadata or {})["ending"] for chunk in stored} == {"interrupted"}
            assert (stored[0].metadata or {})["mood"] == "curious"
            assert "It is very lo" in seen_text(window)
            assert any("interrupted" in notice for notice in notices(window))
        if crash == "before it is cleared":
            assert [chunk.key.index for chunk in stored] == [0]
            assert stored[0].key in window.life.context
        assert is_ascending(window.life.layout().placed)
        if crash != "before the message":
            assert continue_reply(window).text
        assert send(window, "Go on.").ending == "end"
        assert window.memory.store.verify() == []


def test_what_was_deleted_meanwhile_does_not_live_again(path: Path) -> None:
    with reopened(path) as window:
        for _ in range(9):
            send(window, "Tell me of rivers.")
        alive = next(key for key, _ in living(window) if key.role == "assistant")
        buried = next(iter(window.life.burial_log))
    with reopened(path) as window:
        window.memory.delete([alive, buried], "elsewhere")
    with reopened(path) as window:
        assert alive not in window.life.context
        assert buried not in window.life.burial_log


def test_what_was_undeleted_meanwhile_is_in_the_graveyard(path: Path) -> None:
    with reopened(path) as window:
        send(window, "Tell me of rivers.")
        actions.delete(window, QUESTION)
    with opened_hub(path) as hub:
        hub.open("other").memory.undelete([QUESTION], "elsewhere")
    with reopened(path) as window:
        assert QUESTION in window.life.burial_log


@pytest.mark.parametrize("lived", ["both", "left", "right"])
def test_what_was_merged_meanwhile_lives_as_one(path: Path, lived: str) -> None:
    left, right = ANSWER, ChunkKey(2, 1, "assistant")
    with reopened(path, EchoEngine([long_text(2)]), PLAIN) as window:
        send(window, "Tell me of rivers.")
        seen = seen_text(window)
        if lived != "both":
            window.life.drop([right if lived == "left" else left])
            window.save()
    with opened_hub(path) as hub:
        hub.open("other").memory.merge(left, right, "elsewhere")
    with reopened(path, settings=PLAIN) as window:
        assert [key for key, _ in living(window)] == [QUESTION, left]
        assert seen_text(window) == seen


def test_another_model_reads_the_words_in_its_own_tokens_and_the_record_stays(path: Path) -> None:
    with reopened(path, settings=PLAIN) as window:
        send(window, "Tell me of rivers.")
        words = stored_text(window.memory, 1) + stored_text(window.memory, 2)
        ids = [entry.chunk.packed_ids for turn in (1, 2) for entry in window.memory.chunks_of_turn(turn)]
        before = {key: max(row) for key, row in brightness(window).items()}
        actions.pin(window, QUESTION)
    with reopened(path, LetterEngine(), PLAIN) as window:
        assert "".join(text for _, text in living(window)) == words
        assert sum(len(chunk.tokens) for chunk in window.life.context) == len(words)
        assert all(chunk.is_foreign for chunk in window.life.context)
        assert any("written with another model" in notice for notice in notices(window))
        assert {key: max(row) for key, row in brightness(window).items()} == before
        assert is_ascending(window.life.layout().placed)
        assert continue_reply(window).text
        reply = send(window, "Go on.")
        assert [entry.chunk.packed_ids for turn in (1, 2) for entry in window.memory.chunks_of_turn(turn)][:2] == ids[
            :2
        ]
        assert not any(chunk.is_foreign for chunk in window.life.context if chunk.key.turn == reply.turn)
        seen = seen_text(window)
    with reopened(path, settings=PLAIN) as window:
        assert seen_text(window) == seen
        assert window.life.context[QUESTION].is_pinned


def test_another_scorer_starts_from_the_peaks(path: Path) -> None:
    with reopened(path) as window:
        for _ in range(2):
            send(window, "Tell me of rivers.")
        peaks = {key: max(row) for key, row in brightness(window).items()}
    with reopened(path, settings=with_section(SMALL, "brightness", scorer="cumulative")) as window:
        assert {key: max(row) for key, row in brightness(window).items()} == pytest.approx(peaks)


def test_a_window_saved_with_settings_that_are_gone_opens_with_the_defaults_and_says_so(path: Path) -> None:
    """Such as a window scored by `far`, which kept three numbers per token."""
    with reopened(path) as window:
        send(window, "Tell me of rivers.")
        peaks = {key: max(row) for key, row in brightness(window).items()}
        store, window_id = window.memory.store, window.id
        record = store.window(window_id)
        assert record is not None
        saved = decoded(record.state, record.name)
        chunks = tuple(msgspec.structs.replace(one, rows=3, state=one.state * 3) for one in saved.chunks)
        gone = {"brightness.scorer": "far", "brightness.chance": 3, "weave.budget_share": 0.25}
        old = msgspec.structs.replace(
            saved, scorer="far", chunks=chunks, overrides={**gone, "generation.max_tokens": 70}
        )
        store.put_window(msgspec.structs.replace(record, state=encoded(old)))
    with reopened(path) as window:
        assert notices(window) == [
            "This window's setting brightness.scorer = far is not valid in this version; the program's setting is used "
            "instead.",
            "This window's setting brightness.chance = 3 is not valid in this version; the program's setting is used "
            "instead.",
            "weave.budget_share of this window is no longer a setting and is ignored: use weave.budget_tokens instead; "
            "0 stands for half of the context.",
        ]
        assert window.overrides == {"generation.max_tokens": 70}
        assert window.scorer.name == SMALL.brightness.scorer
        assert {key: max(row) for key, row in brightness(window).items()} == pytest.approx(peaks)
        assert send(window, "Go on.").text
    with reopened(path) as window:
        assert not notices(window)


@pytest.mark.parametrize("state", [b"", b"nonsense", encoded(SavedWindow("x", (), format_version=99))])
def test_a_snapshot_that_cannot_be_read_is_told(state: bytes) -> None:
    with pytest.raises(StoreDamaged, match="window river"):
        decoded(state, "river")


def test_an_interrupted_reply_can_be_answered_anew(path: Path) -> None:
    happening = Happening()
    with reopened(path, EchoEngine(attention=happening), PLAIN) as window:
        happening.at[5] = window.stop
        send(window, "Tell me of rivers.")
    with reopened(path, settings=PLAIN) as window:
        assert actions.regenerate(window).ending == "end"
        with pytest.raises(InputError, match="not in the memory, or has already been deleted"):
            actions.delete(window, QUESTION)
