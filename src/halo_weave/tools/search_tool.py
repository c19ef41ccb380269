"""`search_memory`: explicit search over everything ever said."""

from typing import Annotated, NamedTuple

import msgspec

from halo_weave.memory.memory import Memory
from halo_weave.memory.search.search import Hit
from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.tools.remembering import SOURCE
from halo_weave.tools.times import shown_time, time_of_text
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, as_json, succeeded

DESCRIPTION = (
    "Search everything ever said, in all conversations, by meaning and by words. Returns the best passages, each with "
    "its date and speaker. Use it when you are asked about something that is not in your context. Search for words "
    "that the answer may contain, not for a command."
)

_MOST_CHARACTERS = 40_000
_OF_THIS_EXCHANGE = 10
"""Extra hits to request, because the current question and the call itself rank first and are dropped."""


class SearchMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000, description="Text to search for.")]
    role: Annotated[Role | None, msgspec.Meta(description="Only passages by the user, or by the assistant.")] = None
    since: Annotated[str | None, msgspec.Meta(description="Only passages since this date or time, in ISO 8601.")] = None
    until: Annotated[str | None, msgspec.Meta(description="Only passages before this date or time, in ISO 8601.")] = (
        None
    )
    limit: Annotated[int, msgspec.Meta(ge=1, le=50, description="Maximum number of passages.")] = 5


def search_tool(memory: Memory) -> Tool[SearchMemory]:
    def search(arguments: SearchMemory, asker: Asker) -> ToolOutcome:
        hits = memory.search(
            arguments.query,
            limit=arguments.limit + _OF_THIS_EXCHANGE,
            roles=None if arguments.role is None else [arguments.role],
            since=None if arguments.since is None else time_of_text("since", arguments.since),
            until=None if arguments.until is None else time_of_text("until", arguments.until),
        )
        now = (asker.question_turn, asker.answer_turn)
        return _told(_within_limit([hit for hit in hits if hit.chunk.key.turn not in now][: arguments.limit]))

    return Tool("search_memory", DESCRIPTION, SearchMemory, search)


class _Passage(NamedTuple):
    hit: Hit
    text: str


def _within_limit(hits: list[Hit]) -> list[_Passage]:
    """Take the best hits first, truncate the one that exceeds the limit, and drop the rest."""
    passages, left = [], _MOST_CHARACTERS
    for hit in hits:
        if left > 0:
            text = hit.chunk.text.strip()
            passages.append(_Passage(hit, text if len(text) <= left else f"{text[:left]} …"))
            left -= len(text)
    return passages


def _told(passages: list[_Passage]) -> ToolOutcome:
    data = [
        {
            "time": hit.chunk.time.isoformat(),
            "role": hit.chunk.key.role,
            "turn": text_of_number(hit.chunk.key.turn),
            "text": text,
            "score": round(hit.score, 4),
            **({"source": source} if (source := (hit.chunk.metadata or {}).get(SOURCE)) else {}),
        }
        for hit, text in passages
    ]
    told = (f"[{shown_time(hit.chunk.time)} {hit.chunk.key.role}] {as_json(text)}" for hit, text in passages)
    return succeeded(" ".join(told) or "nothing found", {"found": data})
