"""Removes captures that contain forgotten chunks, as a whole, because the steps of a capture depend on each other."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from halo_weave.records.chunks import Chunk
from halo_weave.weave.captured import INDEX_FILE


def remove_captures_with(chunks: Sequence[Chunk], folder: Path) -> list[Path]:
    """Remove every capture in this folder that contains words of these chunks; returns the removed folders.

    A capture is not tied to one memory, so the words themselves must match, not only their positions. A capture with an
    unreadable line may contain them, so it is removed too. Raises OSError if a capture cannot be removed.
    """
    if not chunks:
        return []
    words = _Words(chunks)
    removed = [index.parent for index in sorted(folder.glob(f"*/{INDEX_FILE}")) if _has_any(index, words)]
    for capture in removed:
        shutil.rmtree(capture)
    return removed


class _Words:
    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._texts: list[str] = []
        self._by_position: dict[int, str] = {}
        for chunk in chunks:
            self._texts += [chunk.text] if chunk.text.strip() else []
            pieces = (token.text for token in chunk.tokens())
            self._by_position |= dict(enumerate(pieces, start=chunk.first_position))

    def are_in(self, text: str) -> bool:
        return any(one in text for one in self._texts)

    def are_at(self, position: int, pieces: Iterable[str]) -> bool:
        return any(
            piece and self._by_position.get(place) == piece for place, piece in enumerate(pieces, start=position)
        )


def _has_any(index: Path, words: _Words) -> bool:
    with index.open("rb") as lines:
        return any(_line_has_any(line, words) for line in lines)


def _line_has_any(line: bytes, words: _Words) -> bool:
    try:
        record = msgspec.json.decode(line)
        return any(_part_has_any(part, words) for part in _parts(record))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return True


def _part_has_any(part: object, words: _Words) -> bool:
    if isinstance(part, str):
        return words.are_in(part)
    if not isinstance(part, Mapping) or part.get("position") is None:
        return False
    pieces = part.get("pieces") or [part.get("text") or ""]
    return words.are_at(int(part["position"]), pieces)


def _parts(value: Any) -> Iterator[object]:
    """The value and all values nested in it."""
    yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _parts(one)
