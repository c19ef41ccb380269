"""The notes tools: `query_notes` reads with jq, `patch_notes` changes with jq."""

from typing import Annotated, Any

import msgspec

from halo_weave.tools.notes.notes import GONE, Notes
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, as_json, succeeded

_LONGEST_FILTER = 20_000
QUERY_DESCRIPTION = (
    "Read your notes with a jq filter. The notes are one JSON object with topics, reminders, context and scratch, kept "
    "permanently and shared by all conversations. `.` returns everything, `.topics` one part, `.reminders[0]` one item "
    "of a list."
)
PATCH_DESCRIPTION = (
    "Change your notes with a jq filter whose result is the complete new document: an assignment such as "
    '`.topics.garden = "roses"`, `.reminders += ["call Ann"]`, `. + {"mood": "good"}`, or `del(.scratch.old)`. '
    "Any other result is rejected and changes nothing. Every version is kept, so changes can be undone."
)


class QueryNotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    filter: Annotated[str, msgspec.Meta(max_length=_LONGEST_FILTER, description="A jq filter.")] = "."


class PatchNotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    filter: Annotated[
        str, msgspec.Meta(min_length=1, max_length=_LONGEST_FILTER, description="A jq filter that returns one object.")
    ]


def note_tools(notes: Notes) -> tuple[Tool[Any], ...]:
    def query(arguments: QueryNotes, _: Asker) -> ToolOutcome:
        values = notes.query(arguments.filter)
        return succeeded(", ".join(map(as_json, values)) or "nothing", {"values": values})

    def patch(arguments: PatchNotes, asker: Asker) -> ToolOutcome:
        change = notes.patch(arguments.filter, asker.origin)
        changes = [
            {"path": path, **({"is_deleted": True} if value is GONE else {"value": value})}
            for path, value in change.changes
        ]
        return succeeded(change.in_words(), {"version": change.version, "changes": changes})

    return (
        Tool("query_notes", QUERY_DESCRIPTION, QueryNotes, query),
        Tool("patch_notes", PATCH_DESCRIPTION, PatchNotes, patch, changes=True),
    )
