"""The text that is embedded for a chunk: the chunk itself with the anchors of the question and the answer around it.

An anchor is a turn's first chunk. In the order of the conversation, the text contains

- for an assistant chunk: the question's anchor, the answer's anchor, the chunk;
- for a user chunk: the question's anchor, the chunk, and the answer's anchor once it exists;
- for a system chunk: the chunk alone.

An embedder reads a limited number of tokens. The chunk has priority, then the other role's anchor, then its own turn's
anchor. The first of them that does not fit is shortened to its beginning, and the rest are left out.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role

CountTokens = Callable[[str], int]
"""Counts the tokens of a whole text, including special tokens, like `Embedder.count_tokens`."""

_ORDER_IN_TEXT: Mapping[Role, tuple[int, ...]] = {"assistant": (2, 0, 1), "user": (1, 2, 0), "system": (0,)}
"""Where each part goes in the text. Parts are listed by priority: chunk, other role's anchor, own turn's anchor."""
_LAST_WORD = re.compile(r"\s\S*$")
_LONGEST_WORD = 24


class _Part(NamedTuple):
    place: int
    text: str


def embedding_text(
    target: str,
    *,
    role: Role,
    own_anchor: str | None,
    other_anchor: str | None,
    count_tokens: CountTokens,
    limit: int,
) -> str:
    """Return the text to embed, at most `limit` tokens long.

    `own_anchor` is None if the target is its turn's anchor itself, `other_anchor` if the other role's turn does not
    exist. Each part is stripped and starts on its own line. A shortened part may leave one word or 1/64 of the limit
    unused. The text is empty if not even the target's first character fits.
    """
    texts = (target, other_anchor or "", own_anchor or "")
    places = _ORDER_IN_TEXT[role]
    parts = [_Part(place, text.strip()) for place, text in zip(places, texts, strict=False) if text.strip()]
    whole, tokens, tokens_of_more = len(parts), 0, 0
    while whole > 0 and (tokens := count_tokens(_joined(parts[:whole]))) > limit:
        whole, tokens_of_more = whole - 1, tokens
    if whole == len(parts):
        return _joined(parts)
    fitting = _Shortening(parts[:whole], parts[whole], count_tokens, limit)
    return fitting.longest(tokens if whole else 0, tokens_of_more)


def partner(turn: int, role: Role) -> tuple[int, Role] | None:
    """Return the turn and role whose anchor is embedded with a turn's chunks: a question's answer or vice versa."""
    if role == "system":
        return None
    return (turn + 1, "assistant") if role == "user" else (turn - 1, "user")


def to_embed_again(new: Collection[ChunkKey], earlier: Iterable[ChunkKey]) -> list[ChunkKey]:
    """Return those of the `earlier` chunks whose embedded text changes because of the `new` ones.

    Only anchors are part of other chunks' texts. In a conversation, an answer's anchor changes all chunks of its
    question. Chunks that arrive in another order, as in imports, are covered too.
    """
    anchors = {(key.turn, key.role) for key in new if key.index == 0 and key.role != "system"}
    return [
        key
        for key in earlier
        if key not in new and ((key.turn, key.role) in anchors or partner(key.turn, key.role) in anchors)
    ]


def _joined(parts: Sequence[_Part]) -> str:
    return "\n".join(part.text for part in sorted(parts))


class _Shortening:
    """Finds how much of `part` fits beside the `taken` parts, with few and short token counts.

    Tokens are spread evenly enough to guess the cut from the counts so far. Every fourth guess halves the range, so
    that uneven texts finish quickly too.
    """

    def __init__(self, taken: Sequence[_Part], part: _Part, count_tokens: CountTokens, limit: int) -> None:
        self._taken = taken
        self._part = part
        self._count_tokens = count_tokens
        self._limit = limit
        self._enough = limit - limit // 64
        self._aim = limit - limit // 128

    def longest(self, tokens_without: int, tokens_with: int) -> str:
        best = _joined(self._taken)
        fits, fits_tokens = 0, tokens_without
        too_long, too_many = len(self._part.text), tokens_with
        guesses = 0
        while too_long - fits > 1 and fits_tokens < self._enough:
            guesses += 1
            share = (self._aim - fits_tokens) / (too_many - fits_tokens) if guesses % 4 else 0.5
            length = min(max(fits + int(share * (too_long - fits)), fits + 1), too_long - 1)
            text = _joined([*self._taken, self._part._replace(text=_beginning(self._part.text, length))])
            tokens = fits_tokens if text == best else self._count_tokens(text)
            if tokens > self._limit:
                too_long, too_many = length, tokens
            else:
                best, fits, fits_tokens = text, length, tokens
        return best


def _beginning(text: str, length: int) -> str:
    """Return at most `length` characters, without a cut word at the end unless it is unusually long."""
    beginning = text[:length]
    if not text[length].isspace():
        torn_word = _LAST_WORD.search(beginning, max(0, length - _LONGEST_WORD))
        beginning = beginning[: torn_word.start()] if torn_word else beginning
    return beginning.rstrip()
