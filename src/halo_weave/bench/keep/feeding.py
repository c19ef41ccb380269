"""A conversation as a window would give it to the model: turns in the template's frames, cut into chunks."""

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.conversations import Conversations, Question, Turn, by_conversation
from halo_weave.engine import turns
from halo_weave.engine.protocol import Engine
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.text.chunking import chunks_of
from halo_weave.weave.living import LivingChunk


class FedChunk(msgspec.Struct, frozen=True):
    """`turn` is the index of its turn in the conversation; its tokens occupy the places from `start` up to `end`."""

    turn: int
    index: int
    role: Role
    start: int
    end: int
    texts: tuple[str, ...]

    @property
    def tokens(self) -> int:
        return self.end - self.start


class FedTurn(msgspec.Struct, frozen=True):
    """Its text occupies the places from `start` up to `end`, between its frames."""

    id: str
    role: Role
    start: int
    end: int


class FedConversation(msgspec.Struct, frozen=True):
    name: str
    token_ids: tuple[int, ...]
    turns: tuple[FedTurn, ...]
    chunks: tuple[FedChunk, ...]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([chunk.tokens for chunk in self.chunks], dtype=np.int64)

    def evidence(self, question: Question) -> NDArray[np.int64]:
        """Return the places of the fed chunks that hold evidence for a question."""
        wanted = set(question.evidence)
        return np.array(
            [place for place, chunk in enumerate(self.chunks) if self.turns[chunk.turn].id in wanted], dtype=np.int64
        )

    def living(self, places: Iterable[int], values: Iterable[float]) -> list[LivingChunk]:
        """Return chunks, numbered as in a window and worth these values. An answer's turn follows its question's."""
        chunks = []
        for place, value in zip(places, values, strict=True):
            chunk = self.chunks[place]
            first = self.exchange_of(chunk.turn).start
            is_answer = first < chunk.turn
            number = 2 * first + 1 if is_answer else 2 * chunk.turn + (chunk.role == "assistant")
            key = ChunkKey(number, chunk.index, chunk.role)
            chunks.append(LivingChunk(key, chunk.start, chunk.tokens, 0, float(value)))
        return chunks

    def exchange_of(self, turn: int) -> range:
        """Return the turns in progress while this one is written: itself, and the question that it answers."""
        answers = turn > 0 and self.turns[turn].role == "assistant" and self.turns[turn - 1].role == "user"
        return range(turn - 1 if answers else turn, turn + 1)


def feed_all(engine: Engine, conversations: Conversations, system_prompt: str, limit: int) -> list[FedConversation]:
    """Feed each conversation from its beginning, in whole turns, up to `limit` tokens."""
    by_name = by_conversation(conversations.turns)
    return [feed(engine, name, said, system_prompt, limit) for name, said in by_name.items()]


def feed(engine: Engine, name: str, said: Iterable[Turn], system_prompt: str, limit: int) -> FedConversation:
    beginning = turns.turn_tokens(engine, "system", system_prompt) if system_prompt else []
    ids = [token.id for token in (*turns.start_tokens(engine), *beginning)]
    fed: list[FedTurn] = []
    chunks: list[FedChunk] = []

    for turn in said:
        opening, closing = turns.opening_tokens(engine, turn.role), turns.closing_tokens(engine, turn.role)
        tokens = engine.tokenize(turn.said)
        if len(ids) + len(opening) + len(tokens) + len(closing) > limit:
            break
        ids.extend(token.id for token in opening)
        start = len(ids)
        for index, part in enumerate(chunks_of(tokens)):
            texts = tuple(token.text for token in part)
            chunks.append(FedChunk(len(fed), index, turn.role, len(ids), len(ids) + len(part), texts))
            ids.extend(token.id for token in part)
        fed.append(FedTurn(turn.id, turn.role, start, len(ids)))
        ids.extend(token.id for token in closing)
    return FedConversation(name, tuple(ids), tuple(fed), tuple(chunks))
