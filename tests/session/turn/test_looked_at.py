"""What returns for a message shows the words that the message looked at, with the real reader and embedder."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.memory import Memory
from halo_weave.memory.search.search import Hit
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import window_state
from support.windows import PLAIN, Clock, long_text, opened_hub, weave

RECALLING = weave(PLAIN, resurrection=True)
SAID = (
    "My cat Miso sleeps on the warm router.",
    "The ferry to the island was late because of the crane.",
    "I bake bread with rye flour; the sour dough is from my aunt Ida.",
)
QUESTION = "Where does my cat Miso sleep?"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


@pytest.fixture
def hub(path: Path) -> Iterator[Hub]:
    with opened(path) as hub:
        for text in SAID:
            send(hub.open("before"), text)
        assert hub.open("before").memory.settle() == []
        yield hub


def opened(path: Path, *, is_read: bool = True) -> AbstractContextManager[Hub]:
    engine, reader = EchoEngine(["I see."] * 20), ReaderSettings() if is_read else None
    return opened_hub(path, engine, RECALLING, embedder=EmbedderSettings(), reader=reader, clock=Clock())


def told(window: Window) -> dict[str, list[str]]:
    """Return the texts that returned, each with the words that the events name."""
    events = [event for event in window.log.since(0) or [] if event.kind == "resurrected"]
    chunks = [chunk for event in events for chunk in event.data["chunks"]]
    return {text: words(text, chunk["looked_at"]) for chunk in chunks if (text := "".join(chunk["pieces"]))}


def shown(window: Window) -> dict[str, list[str]]:
    """Return the same of the window's state, for those texts that have such words."""
    chunks = [("".join(chunk.pieces), chunk.looked_at) for chunk in window_state(window).chunks]
    return {text: words(text, spans) for text, spans in chunks if spans}


def words(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


def test_what_returns_for_a_message_names_the_words_that_the_message_looked_at(hub: Hub) -> None:
    window = hub.open("new")
    send(window, QUESTION)
    assert {"cat", "Miso"} & set(told(window)[SAID[0]])
    assert shown(window)[SAID[0]] == told(window)[SAID[0]]


def test_the_words_are_still_known_when_the_window_is_opened_again(hub: Hub, path: Path) -> None:
    window = hub.open("new")
    send(window, QUESTION)
    before = shown(window)
    window.memory.settle()
    with opened(path, is_read=False) as another:
        assert shown(another.open("new")) == before


def test_text_that_was_not_read_returns_without_words(path: Path) -> None:
    with opened(path, is_read=False) as hub:
        send(hub.open("before"), SAID[0])
        hub.open("before").memory.settle()
        window = hub.open("new")
        send(window, QUESTION)
        assert told(window)[SAID[0]] == []
        assert shown(window) == {}


def test_words_are_looked_up_only_in_what_returns_because_it_was_found(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    with_words = Memory.with_words

    def counting(memory: Memory, hits: Iterable[Hit], text: str) -> list[Hit]:
        hits = list(hits)
        asked.append([hit.chunk.text for hit in hits])
        return with_words(memory, hits, text)

    monkeypatch.setattr(Memory, "with_words", counting)
    window = hub.open("new")
    send(window, QUESTION)
    (texts,) = asked
    assert SAID[0] in texts
    assert set(texts) <= set(told(window))
    assert SAID[1] not in texts


def test_words_stay_at_their_place_when_text_is_merged_while_the_window_is_closed(path: Path) -> None:
    """What is merged behind a chunk leaves its places as they are; in the chunk before it they would be others."""
    with opened_hub(path) as hub:
        window = hub.open("merged")
        send(window, long_text(3))
        assert window.newest is not None
        first, second, third = [entry.chunk for entry in window.memory.chunks_of_turn(window.newest.turn_user)]
        for chunk in (first, second):
            live = window.life.context[chunk.key]
            live.returned, live.looked_at = "Found.", ((0, 9),)
        window.save()
    with opened_hub(path) as hub:
        hub.open("another").memory.merge(second.key, third.key, "test")
        assert shown(hub.open("merged")) == {first.text: [first.text[:9]], second.text + third.text: [second.text[:9]]}
        hub.open("merged").save()
    with opened_hub(path) as hub:
        hub.open("another").memory.merge(first.key, second.key, "test")
        assert shown(hub.open("merged")) == {first.text + second.text + third.text: [first.text[:9]]}
