"""Long conversations with questions about them, read from the file format that all benchmarks share.

The file holds one JSON object per line, plain or gzip: `{"type": "turn", "conversation", "id", "role", "speaker",
"time", "session", "text"}` in order, and `{"type": "question", "conversation", "text", "evidence": [turn ids],
"category"}`.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from halo_weave.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"


class Turn(msgspec.Struct, frozen=True, tag_field="type", tag="turn"):
    conversation: str
    id: str
    role: Literal["user", "assistant"]
    text: str
    speaker: str = ""
    time: str | None = None
    session: Any = None

    @property
    def said(self) -> str:
        """The text, preceded by the speaker's name, as in a chat of several people."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class Question(msgspec.Struct, frozen=True, tag_field="type", tag="question"):
    conversation: str
    text: str
    evidence: tuple[str, ...] = ()
    category: str = ""
    answer: Any = None


class Conversations(msgspec.Struct, frozen=True):
    turns: list[Turn]
    questions: list[Question]


def by_conversation(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    found: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        found[turn.conversation].append(turn)
    return dict(found)


def read_conversations(path: Path) -> Conversations:
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == _GZIP_MAGIC
        content = gzip.decompress(path.read_bytes()) if is_gzip else path.read_bytes()
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot read the data file {path}: {reason}.") from error
    turns: list[Turn] = []
    questions: list[Question] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=Turn | Question)
        except msgspec.DecodeError as error:
            raise InputError(f"Line {number} of {path} is neither a turn nor a question: {error}.") from error
        turns.append(row) if isinstance(row, Turn) else questions.append(row)
    if not turns:
        raise InputError(f"The data file {path} has no turns.")
    return Conversations(turns, questions)
