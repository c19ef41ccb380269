"""What an export or import tells: how far it is, and what it did."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

BATCH = 256
"""How many chunks there are between two reports of progress."""
_NAMED = 5


class Progress(NamedTuple):
    """Chunks done of all in this step; `total` is None where it is not known yet."""

    step: Literal["reading", "writing"]
    done: int
    total: int | None


ProgressCallback = Callable[[Progress], None]


class LeftOut(msgspec.Struct, frozen=True):
    """Something damaged that is not in an export: what it is, and what is wrong with it."""

    what: str
    problem: str


class Exported(msgspec.Struct, frozen=True):
    """`deleted_chunks` are among `chunks`."""

    chunks: int
    deleted_chunks: int
    tokens: int
    bytes: int
    left_out: list[LeftOut] = []


class Imported(msgspec.Struct, frozen=True):
    """`present` chunks were in the memory already; `left_out_tokens` are a browser's system prompt.

    `is_renumbered` says that the chunks got other turns and positions than in the file, because those were not free or,
    with `is_far_away`, would have left a large gap behind the numbers in use.
    `tree_added` are paths that got versions from the file; those in `tree_differing` have another history here, and
    stay as they are. So do the notes.
    """

    source: Literal["halo-weave", "browser"]
    added: int
    present: int
    left_out_tokens: int = 0
    is_renumbered: bool = False
    is_far_away: bool = False
    tree_added: list[str] = []
    tree_differing: list[str] = []
    are_notes_added: bool = False
    are_notes_differing: bool = False

    def renumbering_in_words(self) -> str:
        """To stand behind what became of the chunks; empty if they have their own numbers."""
        if not self.is_renumbered:
            return ""
        reason = "are far from those in use" if self.is_far_away else "were already taken"
        return f"; they received new turns and positions because theirs {reason}"

    def kept_in_words(self) -> str:
        """What became of notes and tree, to stand behind what became of the chunks; empty if nothing did."""
        words = ""
        if self.are_notes_added:
            words += "; notes added"
        if self.tree_added:
            words += f"; {_entries(len(self.tree_added))} of the memory tree added"
        if self.are_notes_differing:
            words += "; the notes in the file differ and were not imported"
        if self.tree_differing:
            named = ", ".join(self.tree_differing[:_NAMED]) + (" and more" if len(self.tree_differing) > _NAMED else "")
            words += f"; {_entries(len(self.tree_differing))} of the memory tree differ and were not imported: {named}"
        return words


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def no_progress(_: Progress) -> None:
    pass
