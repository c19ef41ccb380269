"""Exchanges for tests of the whole memory: one token per word, one minute apart."""

from datetime import UTC, datetime, timedelta

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

BEGIN = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
_POSITIONS = 100


def chunk_of_text(turn: int, index: int, role: Role, text: str) -> Chunk:
    tokens = [Token(place, word + " ") for place, word in enumerate(text.split())]
    key = ChunkKey(turn, index, role)
    first = (turn * 10 + index) * _POSITIONS
    return Chunk.of_tokens(key, tokens, first_position=first, time=BEGIN + timedelta(minutes=turn))


def written(memory: Memory, *exchanges: tuple[str, str]) -> list[int]:
    """Write questions and answers, with one chunk per line; return the ids of the chunks."""
    ids = []
    for question, answer in exchanges:
        turn = memory.reserve(1).turn_user
        memory.store.advance(next_turn=turn + 2, next_position=(turn + 2) * 10 * _POSITIONS)
        said: tuple[tuple[int, Role, str], ...] = ((turn, "user", question), (turn + 1, "assistant", answer))
        ids += memory.write(
            [
                chunk_of_text(number, index, role, line)
                for number, role, text in said
                for index, line in enumerate(text.splitlines())
            ]
        )
    return ids
