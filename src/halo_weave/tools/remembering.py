"""`remember`: saves an exchange from elsewhere in the memory as if it had been said here."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey, require_whole_characters
from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.text.chunking import chunks_of
from halo_weave.tools.times import time_of_text
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, succeeded

DESCRIPTION = (
    "Save an exchange in the memory word for word: what the user said and what you answered. From then on, "
    "search_memory finds it for every assistant that uses this memory. Pass the exact words, not a summary."
)
SOURCE = "source"
"""The metadata key of a chunk that names where it was said."""

Tokenize = Callable[[str], list[Token]]


class Remembering(NamedTuple):
    """The parts needed to split text into chunks."""

    tokenize: Tokenize
    chunk_min_tokens: int
    chunk_max_tokens: int


class Remember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user: Annotated[str, msgspec.Meta(min_length=1, max_length=200_000, description="What the user said.")]
    assistant: Annotated[str, msgspec.Meta(max_length=200_000, description="What you answered; may be empty.")] = ""
    time: Annotated[
        str | None, msgspec.Meta(description="When it was said, in ISO 8601; the current time if omitted.")
    ] = None
    source: Annotated[
        str, msgspec.Meta(max_length=200, description="Where it was said, such as the name of a program or project.")
    ] = ""


def remember_tool(memory: Memory, remembering: Remembering, clock: Callable[[], datetime]) -> Tool[Remember]:
    def remember(arguments: Remember, asker: Asker) -> ToolOutcome:
        time = clock() if arguments.time is None else time_of_text("time", arguments.time)
        said: list[tuple[Role, list[Token]]] = [("user", _tokens(remembering.tokenize, "user", arguments.user))]
        if arguments.assistant.strip():
            said.append(("assistant", _tokens(remembering.tokenize, "assistant", arguments.assistant)))
        reservation = memory.reserve(sum(len(tokens) for _, tokens in said))
        turns = {"user": reservation.turn_user, "assistant": reservation.turn_assistant}
        chunks: list[Chunk] = []
        position = reservation.position_start
        for role, tokens in said:
            for index, piece in enumerate(_pieces(remembering, tokens)):
                chunks.append(
                    Chunk.of_tokens(
                        ChunkKey(turns[role], index, role),
                        piece,
                        first_position=position,
                        time=time,
                        metadata={SOURCE: arguments.source or asker.origin},
                    )
                )
                position += len(piece)
        memory.embed_later(memory.write(chunks))
        turn = text_of_number(reservation.turn_user)
        return succeeded(f"remembered as turn {turn}", {"turn": turn, "chunks": len(chunks), "time": time.isoformat()})

    return Tool("remember", DESCRIPTION, Remember, remember, changes=True)


def _tokens(tokenize: Tokenize, role: Role, text: str) -> list[Token]:
    require_whole_characters(role, text)
    tokens = tokenize(text) if text.strip() else []
    if not tokens:
        raise InputError(f"What the {role} said is empty; nothing was remembered.")
    return tokens


def _pieces(remembering: Remembering, tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    return chunks_of(tokens, min_tokens=remembering.chunk_min_tokens, max_tokens=remembering.chunk_max_tokens)
