"""The progress and the results of exports and imports."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

BATCH = 256
"""Number of chunks between two progress reports."""
_NAMED = 5


class Progress(NamedTuple):
    """Chunks done out of all in this step; `total` is None if it is not known yet."""

    step: Literal["reading", "writing"]
    done: int
    total: int | None


ProgressCallback = Callable[[Progress], None]


class LeftOut(msgspec.Struct, frozen=True):
    """Damaged data that was left out of an export: what it is, and what is wrong with it."""

    what: str
    problem: str


class Exported(msgspec.Struct, frozen=True):
    """`deleted_chunks` are included in `chunks`."""

    chunks: int
    deleted_chunks: int
    tokens: int
    bytes: int
    left_out: list[LeftOut] = []


class Imported(msgspec.Struct, frozen=True):
    """`present` chunks were already in the memory. `left_out_tokens` counts a browser's system prompt.

    `is_renumbered` means that the chunks got other turns and positions than in the file, because those were taken or,
    with `is_far_away`, would have left a large gap after the numbers in use.
    `tree_added` lists paths that got versions from the file. Paths in `tree_differing` have another history here and
    were left unchanged. The same applies to the notes.
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
        """A clause to append to the report on the chunks; empty if they kept their numbers."""
        if not self.is_renumbered:
            return ""
        reason = "are far from those in use" if self.is_far_away else "were already taken"
        return f"; they received new turns and positions because theirs {reason}"

    def kept_in_words(self) -> str:
        """A clause on the notes and the tree to append to the report on the chunks; empty if neither is affected."""
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
