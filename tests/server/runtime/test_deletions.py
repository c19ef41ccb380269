"""What a server learns about deletions from the audit log."""

from pathlib import Path

from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.server.runtime.deletions import Deletions
from halo_weave.session.actions import actions
from halo_weave.session.turn.turn import send
from support.windows import opened_hub

QUESTION, ANSWER = ChunkKey(1, 0, "user"), ChunkKey(2, 0, "assistant")


def test_deletions_are_known_by_the_window_that_wrote_the_chunk_until_they_are_taken_back(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", EchoEngine(["Yes.", "No."])) as hub:
        one, other = hub.open("one"), hub.open("other")
        deletions = Deletions(one.memory)
        send(one, "Is it?")
        send(other, "Is it not?")
        assert deletions.of_window(one.id) == {}
        actions.delete(one, QUESTION)
        regenerated = actions.regenerate(other).turn
        assert set(deletions.of_window(one.id)) == {QUESTION, ANSWER}
        assert [one.is_superseded for one in deletions.of_window(other.id).values()] == [True, True]
        assert not any(one.is_superseded for one in deletions.of_window(one.id).values())
        actions.undelete(one, [QUESTION, ANSWER])
        actions.delete(other, ChunkKey(regenerated, 0, "assistant"))
        assert deletions.of_window(one.id) == {}
        assert len(deletions.of_window(other.id)) == 4
        one.memory.forget([ANSWER], "elsewhere")
        assert Deletions(one.memory).of_window(one.id) == deletions.of_window(one.id) == {}
        one.memory.clear("elsewhere")
        assert deletions.of_window(other.id) == {}
