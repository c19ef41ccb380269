"""A conversation as the model would have had it in a window: turns in the frames of its template, cut into chunks."""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.conversations import Conversations, Question, Turn, by_conversation
from halo_weave.engine import turns
from halo_weave.engine.protocol import Engine, Token
from halo_weave.text.chat_template import Role
from halo_weave.text.chunking import chunks_of
from halo_weave.weave.layout import holds_word


class FedChunk(msgspec.Struct, frozen=True):
    """`turn` is the number of its turn in the conversation; its tokens stand at the places from `start` to `end`."""

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
    """Its words stand at the places from `start` to `end`; frames are around them."""

    id: str
    role: Role
    start: int
    end: int


class FedConversation(msgspec.Struct, frozen=True):
    name: str
    token_ids: tuple[int, ...]
    words: NDArray[np.bool_]
    """Which tokens hold a letter or a digit; those of frames count as none."""
    turns: tuple[FedTurn, ...]
    chunks: tuple[FedChunk, ...]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.array([chunk.tokens for chunk in self.chunks], dtype=np.int64)

    def evidence(self, question: Question) -> NDArray[np.int64]:
        """The chunks that hold evidence for a question, as far as they were fed."""
        wanted = set(question.evidence)
        return np.array(
            [place for place, chunk in enumerate(self.chunks) if self.turns[chunk.turn].id in wanted], dtype=np.int64
        )

    def exchange_of(self, turn: int) -> range:
        """The turns that are under way while this one is written: itself, and the question that it answers."""
        answers = turn > 0 and self.turns[turn].role == "assistant" and self.turns[turn - 1].role == "user"
        return range(turn - 1 if answers else turn, turn + 1)


def feed_all(engine: Engine, conversations: Conversations, system_prompt: str, limit: int) -> list[FedConversation]:
    """Each conversation from its beginning, whole turns, up to `limit` tokens."""
    by_name = by_conversation(conversations.turns)
    return [feed(engine, name, said, system_prompt, limit) for name, said in by_name.items()]


def feed(engine: Engine, name: str, said: Iterable[Turn], system_prompt: str, limit: int) -> FedConversation:
    beginning = turns.turn_tokens(engine, "system", system_prompt) if system_prompt else []
    ids = [token.id for token in (*turns.start_tokens(engine), *beginning)]
    words = [False] * len(ids)
    fed: list[FedTurn] = []
    chunks: list[FedChunk] = []

    def add_frame(frame: Sequence[Token]) -> None:
        ids.extend(token.id for token in frame)
        words.extend(False for _ in frame)

    for turn in said:
        opening, closing = turns.opening_tokens(engine, turn.role), turns.closing_tokens(engine, turn.role)
        tokens = engine.tokenize(turn.said)
        if len(ids) + len(opening) + len(tokens) + len(closing) > limit:
            break
        add_frame(opening)
        start = len(ids)
        for index, part in enumerate(chunks_of(tokens)):
            texts = tuple(token.text for token in part)
            chunks.append(FedChunk(len(fed), index, turn.role, len(ids), len(ids) + len(part), texts))
            ids.extend(token.id for token in part)
            words.extend(map(holds_word, texts))
        fed.append(FedTurn(turn.id, turn.role, start, len(ids)))
        add_frame(closing)
    return FedConversation(name, tuple(ids), np.array(words, dtype=np.bool_), tuple(fed), tuple(chunks))
