"""Splits a turn into chunks while its tokens arrive: paragraphs and code blocks of a minimum size.

A new chunk may begin at a non-blank line after a blank line, after a line that starts with `}` or after the end of a
fenced block, and at a line that opens a fenced block; never inside one. So blank lines belong to the text before them.
A new chunk does begin there once the previous chunk has the minimum number of tokens.

Fences follow CommonMark (``` or ~~~, three characters or more, indented by up to three spaces, closed by at least as
many of the same character; an unclosed one extends to the end). Fences inside quotes or deeper in lists are not
detected. Lines end with a line feed, optionally preceded by a carriage return.

Chunks consist of whole tokens, and do not end inside what is read as one character, unless it alone is longer than a
chunk may be. If a new chunk should begin inside a token, it begins after that token; if that place is
inside a fenced block, before the token; if both are inside one, not at all. Tokens without text (parts of a character
that a later token completes) belong to the text after them.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from halo_weave.errors import SettingError
from halo_weave.text.graphemes import is_inside_grapheme

MIN_TOKENS = 64

_BLANKS = " \t\r"
_FENCE_INDENTS = ("", " ", "  ", "   ")
_NOT_YET_CLOSED = float("inf")
_MOST_PARTS_OF_CHARACTER = 4
"""Tokens: a character has up to four bytes, and a token at least one."""
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥։။។።][\"'”’»)\]*_]*\s*$")
_SENTENCE_END_WITHOUT_SPACE = re.compile(r"[。！？｡．][」』”’）》】]*\s*$")


class HasText(Protocol):
    @property
    def text(self) -> str: ...


TokenT = TypeVar("TokenT", bound=HasText)


def chunks_of(
    tokens: Iterable[TokenT], *, min_tokens: int = MIN_TOKENS, max_tokens: int = 0
) -> list[tuple[TokenT, ...]]:
    """Split a whole turn; the chunks join to the turn. See `Chunker` for the settings."""
    chunker: Chunker[TokenT] = Chunker(min_tokens=min_tokens, max_tokens=max_tokens)
    chunks = [chunk for token in tokens for chunk in chunker.push(token)]
    return chunks + chunker.finish()


class Chunker(Generic[TokenT]):
    """Takes the tokens of one turn and returns each chunk as soon as its end is certain.

    Every chunk but the last has at least `min_tokens`. With `max_tokens`, longer chunks are split in their second half
    at the last line end, else sentence end, else space. Fenced blocks are then split only if one alone is longer than
    that, so a chunk may exceed `max_tokens` by up to `min_tokens`. 0 never splits.
    """

    def __init__(self, *, min_tokens: int = MIN_TOKENS, max_tokens: int = 0) -> None:
        if min_tokens < 1:
            raise SettingError(f"The minimum chunk size is {min_tokens} tokens, but must be at least 1.")
        if max_tokens and max_tokens < min_tokens:
            raise SettingError(
                f"The maximum chunk size is {max_tokens} tokens, but must be at least the minimum of {min_tokens}."
            )
        self._min_tokens = min_tokens
        self._max_tokens = max_tokens
        self._blocks = _Blocks()
        self._tokens: list[TokenT] = []
        self._places = [0]  # where each token begins in the turn's text, and where the last one ends
        self._last_free = 0  # the largest size so far at which the chunk would end with text, and not inside a fence

    def push(self, token: TokenT) -> list[tuple[TokenT, ...]]:
        self._blocks.push(token.text)
        self._tokens.append(token)
        self._places.append(self._blocks.length)
        chunks = self._finished_chunks()
        if token.text:
            self._note_if_free()
        return chunks

    def finish(self) -> list[tuple[TokenT, ...]]:
        """Return the rest of the turn. Nothing can be pushed afterwards."""
        self._blocks.finish()
        self._note_if_free()
        chunks = self._finished_chunks()
        return [*chunks, self._cut(len(self._tokens))] if self._tokens else chunks

    def _finished_chunks(self) -> list[tuple[TokenT, ...]]:
        chunks = [self._cut(size) for size in iter(self._next_size, None)]
        if self._max_tokens:
            chunks += [self._cut(size) for size in iter(self._next_divided_size, None)]
        return chunks

    def _next_size(self) -> int | None:
        """Return the size of the chunk that ends before the next known start of a chunk, if any."""
        starts = self._blocks.starts
        while starts:
            size = bisect_left(self._places, starts[0])
            if self._places[size] > self._blocks.known_up_to:
                return None
            starts.popleft()
            if self._is_inside_fence(size):
                size -= 1
            if size >= self._min_tokens and not self._is_inside_fence(size):
                return size
        return None

    def _next_divided_size(self) -> int | None:
        """Return the size of the first part of a chunk that has grown too long, if it has."""
        if len(self._tokens) <= self._max_tokens:
            return None
        smallest = max(self._min_tokens, self._max_tokens // 2)
        sizes = range(smallest, self._max_tokens + 1)
        if self._last_free >= smallest:
            return max(filter(self._is_free, sizes), key=self._quality_of_end, default=self._last_free)
        if len(self._tokens) - self._last_free <= self._max_tokens:
            return None
        if self._last_free >= self._min_tokens:
            return self._last_free
        return max((self._last_free + size for size in sizes), key=self._quality_of_end)

    def _note_if_free(self) -> None:
        if self._is_free(len(self._tokens)):
            self._last_free = len(self._tokens)

    def _is_free(self, size: int) -> bool:
        return self._places[size] <= self._blocks.known_up_to and not self._is_inside_fence(size)

    def _is_inside_fence(self, size: int) -> bool:
        return self._blocks.is_inside_fence(self._places[size])

    def _quality_of_end(self, size: int) -> tuple[int, int]:
        before = self._tokens[size - 1].text
        after = next((token.text for token in self._tokens[size : size + _MOST_PARTS_OF_CHARACTER] if token.text), "")
        is_word_end = before[-1:].isspace() or after[:1].isspace()
        if not before or not after or is_inside_grapheme(before, after):
            kind = -1
        elif before.endswith("\n"):
            kind = 3
        elif (is_word_end and _SENTENCE_END.search(before)) or _SENTENCE_END_WITHOUT_SPACE.search(before):
            kind = 2
        else:
            kind = int(is_word_end)
        return kind, size

    def _cut(self, size: int) -> tuple[TokenT, ...]:
        chunk = tuple(self._tokens[:size])
        del self._tokens[:size]
        del self._places[:size]
        self._last_free = max(0, self._last_free - size)
        self._blocks.forget_before(self._places[0])
        return chunk


class _Fence(NamedTuple):
    sign: str
    length: int


class _Blocks:
    """Finds block starts and fences in a text that arrives in pieces; all places are character offsets."""

    def __init__(self) -> None:
        self.length = 0
        self.starts: deque[int] = deque()
        """Starts of lines that may begin a chunk; the caller removes them."""
        self._fences: list[tuple[int, float]] = []
        self._open_fence: _Fence | None = None
        self._line = _Line()
        self._line_start = 0
        self._line_is_start = False
        self._is_after_block = False

    @property
    def known_up_to(self) -> int:
        """Up to this place, it is certain whether a place is inside a fence."""
        if self._open_fence is not None:
            # A closing line closes the fence at its end, which is here if nothing more comes.
            return self.length - self._line.closes(self._open_fence)
        return self._line_start if self._line.may_open_fence else self.length

    def is_inside_fence(self, place: int) -> bool:
        fences_before = bisect_left(self._fences, (place, 0))
        return fences_before > 0 and place < self._fences[fences_before - 1][1]

    def forget_before(self, place: int) -> None:
        self._fences = [fence for fence in self._fences if fence[1] > place]

    def push(self, text: str) -> None:
        first, *others = text.split("\n")
        self._extend_line(first)
        for part in others:
            self.length += 1
            self._end_line()
            self._extend_line(part)

    def finish(self) -> None:
        self._end_line()

    def _extend_line(self, part: str) -> None:
        self._line.extend(part)
        self.length += len(part)
        if self._is_after_block and not self._line.is_blank:
            self._mark_start()

    def _mark_start(self) -> None:
        if not self._line_is_start:
            self.starts.append(self._line_start)
            self._line_is_start = True

    def _end_line(self) -> None:
        line = self._line
        if self._open_fence is not None:
            self._is_after_block = line.closes(self._open_fence)
            if self._is_after_block:
                self._open_fence = None
                self._fences[-1] = (self._fences[-1][0], self.length)
        elif opened := line.opened_fence:
            self._mark_start()
            self._is_after_block = False
            self._open_fence = opened
            self._fences.append((self._line_start, _NOT_YET_CLOSED))
        else:
            self._is_after_block = line.is_blank or line.starts_with_brace
        self._line, self._line_start, self._line_is_start = _Line(), self.length, False


class _Line:
    """Classifies a line from a few facts, so that neither its length nor the number of its pieces costs much."""

    def __init__(self) -> None:
        self._indent = ""
        self._sign = ""
        self._sign_count = 0
        self._has_rest = False
        self._rest_is_blank = True
        self._rest_has_sign = False

    def extend(self, part: str) -> None:
        if not self._sign:
            part = self._take_indent(part)
        if self._sign and not self._has_rest:
            part = self._take_signs(part)
        if part:
            self._has_rest = True
            self._rest_is_blank = self._rest_is_blank and not part.strip(_BLANKS)
            self._rest_has_sign = self._rest_has_sign or self._sign in part

    def _take_indent(self, part: str) -> str:
        beyond = part.lstrip(_BLANKS)
        self._indent = (self._indent + part[: len(part) - len(beyond)])[:4]
        self._sign = beyond[:1]
        return beyond

    def _take_signs(self, part: str) -> str:
        beyond = part.lstrip(self._sign)
        self._sign_count += len(part) - len(beyond)
        return beyond

    @property
    def is_blank(self) -> bool:
        return not self._sign

    @property
    def starts_with_brace(self) -> bool:
        return self._sign == "}" and not self._indent

    @property
    def may_open_fence(self) -> bool:
        """Whether the line opens a fence or may still turn out to."""
        if self._indent not in _FENCE_INDENTS:
            return False
        if self._sign not in ("`", "~"):
            return not self._sign
        return self.opened_fence is not None or not self._has_rest

    @property
    def opened_fence(self) -> _Fence | None:
        # ```so``` is inline code in a paragraph; tildes have no such form.
        is_inline_code = self._sign == "`" and self._rest_has_sign
        return _Fence(self._sign, self._sign_count) if self._is_fence and not is_inline_code else None

    def closes(self, fence: _Fence) -> bool:
        is_long_enough = self._sign == fence.sign and self._sign_count >= fence.length
        return self._is_fence and is_long_enough and self._rest_is_blank

    @property
    def _is_fence(self) -> bool:
        return self._sign in ("`", "~") and self._sign_count >= 3 and self._indent in _FENCE_INDENTS
