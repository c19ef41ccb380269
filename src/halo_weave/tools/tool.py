"""A tool: an action that a model or another assistant can call by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.tree import SnapshotChunk


class Asker(NamedTuple):
    """Identifies the caller in the records. In a chat it also has the turns of the current exchange, whose text does
    not count as memory yet."""

    origin: str
    question_turn: int | None = None
    answer_turn: int | None = None


class ToolOutcome(msgspec.Struct, frozen=True):
    """`line` is compact, for a model that pays for every token; `data` is the full result as JSON. The chunks in
    `woven` are to return to the context, with `cause` as the reason."""

    line: str
    data: Any = None
    is_error: bool = False
    woven: tuple[SnapshotChunk, ...] = ()
    cause: str = ""


ArgumentsT = TypeVar("ArgumentsT", bound=msgspec.Struct)


@dataclass(frozen=True)
class Tool(Generic[ArgumentsT]):
    """Models read `description`. The fields of `arguments`, in order, are the positional arguments of a call."""

    name: str
    description: str
    arguments: type[ArgumentsT]
    work: Callable[[ArgumentsT, Asker], ToolOutcome]
    changes: bool = False
    quiet_work: Callable[[ArgumentsT, Asker], ToolOutcome] | None = None
    """What a reading tool does where not even its use may be recorded; None if `work` records nothing."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        schema = msgspec.json.schema(self.arguments)
        described: dict[str, Any] = schema["$defs"][self.arguments.__name__]
        return {name: value for name, value in described.items() if name != "title"}

    @property
    def argument_names(self) -> tuple[str, ...]:
        return self.arguments.__struct_encode_fields__

    def run(self, arguments: dict[str, Any], asker: Asker) -> ToolOutcome:
        """Raises InputError if the arguments are invalid."""
        return self.work(self._checked(arguments), asker)

    def _checked(self, arguments: dict[str, Any]) -> ArgumentsT:
        unknown = [name for name in arguments if name not in self.argument_names]
        if unknown:
            takes = ", ".join(self.argument_names) or "nothing"
            raise InputError(f"{self.name} has no argument {unknown[0][:40]!r}; it takes {takes}.")
        try:
            return msgspec.convert(arguments, self.arguments)
        except msgspec.ValidationError as error:
            raise InputError(f"{self.name} was called with invalid arguments: {error}.") from None


def succeeded(line: str, data: Any, woven: Sequence[SnapshotChunk] = (), cause: str = "") -> ToolOutcome:
    return ToolOutcome(f"✓ {line}", data, woven=tuple(woven), cause=cause)


def failed(reason: str) -> ToolOutcome:
    return ToolOutcome(f"❌ {' '.join(reason.split())}", {"error": reason}, is_error=True)


def as_json(value: Any) -> str:
    """Encode JSON on one line, without escaping non-ASCII characters."""
    return msgspec.json.encode(value).decode()
