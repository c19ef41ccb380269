"""Collects from a capture what the page draws: chunks, when they lived, their brightness, and attention between them.

Time is counted in steps of the model. Brightness is known at the start of each reply, attention at every step.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.captured import Captured, CapturedRecord, CapturedStep, CaptureHeader

MOST_COLUMNS = 600
Shares = NDArray[np.float32]


@dataclass
class Mark:
    """An event that happened to a chunk just before step `step`."""

    step: int
    kind: str
    why: str = ""


@dataclass
class StudiedChunk:
    """`lives` holds the (start, end) steps of each life; the end of the last is None while the chunk lives."""

    name: str
    role: str
    position: int
    text: str
    tokens: int
    lives: list[tuple[int, int | None]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    peaks: dict[int, float] = field(default_factory=dict)
    """Peak brightness, keyed by the step before which it was recorded."""

    @property
    def is_living(self) -> bool:
        return bool(self.lives) and self.lives[-1][1] is None

    def begin(self, step: int, peak: float | None) -> None:
        if not self.is_living:
            self.lives.append((step, None))
        if peak is not None:
            self.peaks[step] = peak

    def end(self, step: int) -> None:
        if self.is_living:
            self.lives[-1] = (self.lives[-1][0], step)


@dataclass
class StudiedReply:
    """The steps from `first` up to, but not including, `end`, and the text that they wrote."""

    first: int
    end: int
    text: str


@dataclass
class Studied:
    """`attention` is steps by chunks; the rest of each row's sum of 1 went to the chat template and system prompt."""

    header: CaptureHeader
    chunks: list[StudiedChunk]
    replies: list[StudiedReply]
    steps: list[str]
    attention: Shares
    writers: list[int]
    """For each step, the index of the chunk that its token belongs to; -1 for none."""


class _Step(NamedTuple):
    """A step of a reply that has not been cut into chunks yet.

    `positions` are those of the tokens written since the model read the context. `own` is the attention that this step
    gave to the first `words` of them.
    """

    number: int
    position: int | None
    words: int
    positions: list[int]
    own: NDArray[np.float32] | None

    def given_to(self, first: int, end: int) -> float:
        """Return the attention that this step gave to positions `first` up to `end`."""
        if self.own is None:
            return 0.0
        start, stop = (bisect_left(self.positions, place, 0, self.words) for place in (first, end))
        return float(self.own[start:stop].sum(dtype=np.float64))


def collect(captured: Captured) -> Studied:
    collecting = _Collecting()
    for one in captured:
        if isinstance(one, CapturedStep):
            collecting.step(one)
        else:
            collecting.record(one)
    return collecting.studied(captured.header)


class _Collecting:
    def __init__(self) -> None:
        self._chunks: dict[str, StudiedChunk] = {}
        self._replies: list[StudiedReply] = []
        self._steps: list[str] = []
        self._shares: list[dict[str, float]] = []
        self._writers: list[str] = []
        self._spans: list[tuple[str, int, int]] = []
        self._words_from = 0
        self._positions: list[int] = []
        self._uncut: list[_Step] = []

    def record(self, record: CapturedRecord) -> None:
        now, chunks = len(self._steps), record.data.get("chunks", ())
        match record.kind:
            case "context":
                self._begin_reply(record.data)
            case "message":
                self._uncut = []
                for one in chunks:
                    self._known(one).begin(now, one.get("peak"))
            case "reply":
                self._end_reply(chunks)
            case "resurrected" | "undeleted":
                for one in chunks:
                    chunk = self._known(one)
                    chunk.begin(now, one.get("peak"))
                    chunk.marks.append(Mark(now, "returned", one.get("reason", "Its deletion was undone.")))
            case "pinned" | "unpinned":
                self._mark(record.data, now, record.kind)
            case "buried":
                for one in chunks:
                    self._end(one, now, record.kind)
            case "deleted":
                for key in record.data.get("keys", ()):
                    self._end({"key": key}, now, record.kind)
            case "merged":
                self._end({"key": record.data["gone"]}, now, record.kind)

    def step(self, step: CapturedStep) -> None:
        number = len(self._steps)
        self._steps.append(step.text)
        self._writers.append("")
        given: dict[str, float] = {}
        own: NDArray[np.float32] | None = None
        if step.attention is not None:
            sums = np.concatenate([[0.0], np.cumsum(step.attention, dtype=np.float64)])
            given = {name: float(sums[min(end, len(sums) - 1)] - sums[start]) for name, start, end in self._spans}
            own = step.attention[self._words_from :]
        self._shares.append(given)
        if self._replies:
            self._replies[-1].end = number + 1
            self._replies[-1].text += step.text
        self._uncut.append(_Step(number, step.position, len(self._positions), self._positions, own))
        if step.position is not None:
            self._positions.append(step.position)

    def studied(self, header: CaptureHeader) -> Studied:
        chunks = sorted(self._chunks.values(), key=lambda chunk: (chunk.position, chunk.name))
        place = {chunk.name: number for number, chunk in enumerate(chunks)}
        attention = np.zeros((len(self._steps), len(chunks)), dtype=np.float32)
        for number, given in enumerate(self._shares):
            for name, share in given.items():
                attention[number, place[name]] = share
        writers = [place.get(name, -1) for name in self._writers]
        return Studied(header, chunks, self._replies, self._steps, attention, writers)

    def _begin_reply(self, context: dict[str, Any]) -> None:
        now = len(self._steps)
        self._positions = []
        self._words_from = len(context["ids"])
        self._spans = [(_name(one), one["start"], one["end"]) for one in context["chunks"]]
        for one in context["chunks"]:
            self._known(one).begin(now, one["peak"])
        there = {name for name, _, _ in self._spans}
        for chunk in self._chunks.values():
            if chunk.is_living and chunk.name not in there:
                chunk.end(now)  # whatever removed it, the model no longer saw it
        self._replies.append(StudiedReply(now, now, ""))

    def _end_reply(self, chunks: list[dict[str, Any]]) -> None:
        """Assign steps to chunks now that the reply has been cut. A chunk lives from the first step that wrote it."""
        for one in chunks:
            chunk = self._known(one)
            first, end = chunk.position, chunk.position + chunk.tokens
            written = [
                step.number for step in self._uncut if step.position is not None and first <= step.position < end
            ]
            for step in self._uncut:
                if share := step.given_to(first, end):
                    self._shares[step.number][chunk.name] = share
            for number in written:
                self._writers[number] = chunk.name
            chunk.begin(written[0] if written else len(self._steps), None)
            chunk.peaks[len(self._steps)] = one.get("peak", 0.0)
        self._uncut = []

    def _known(self, one: dict[str, Any]) -> StudiedChunk:
        name = _name(one)
        if name not in self._chunks:
            pieces = one.get("pieces", ())
            self._chunks[name] = StudiedChunk(
                name, one["key"]["role"], int(one["position"]), "".join(pieces), len(pieces)
            )
        return self._chunks[name]

    def _end(self, one: dict[str, Any], now: int, kind: str) -> None:
        chunk = self._chunks.get(_name(one))
        if chunk is not None:
            chunk.end(now)
            if "peak" in one:
                chunk.peaks[now] = one["peak"]
            chunk.marks.append(Mark(now, kind, one.get("reason", "")))

    def _mark(self, data: dict[str, Any], now: int, kind: str) -> None:
        chunk = self._chunks.get(_name(data))
        if chunk is not None:
            chunk.marks.append(Mark(now, kind))


def _name(one: dict[str, Any]) -> str:
    key = one["key"]
    return f"{key['turn']}:{key['chunk']} {key['role']}"
