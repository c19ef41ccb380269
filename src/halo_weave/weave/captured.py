"""Reads a capture: a folder that records, step by step, what a model read and attended to.

`capture.json` is the header. `index.jsonl` has one record per line, in order: `context` (the token ids that the model
read, and the chunk that each belongs to), `step` (a token of the reply, and where to find its attention), and the
window's own events, such as `buried` and `resurrected`. `attention.bin` has the rows as little-endian float16, with an
entry for each token that the context had in that step. A truncated line at the end is skipped; a truncated row reads
as no attention.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError

FORMAT = 1
HEADER_FILE, INDEX_FILE, ATTENTION_FILE = "capture.json", "index.jsonl", "attention.bin"


class CaptureHeader(msgspec.Struct, frozen=True):
    format: int
    program: str
    window: str
    name: str
    model: str
    scorer: str
    started_at: datetime


class CapturedStep(NamedTuple):
    """`token_id` is None for a step that ended the reply without a token; `attention` is None if none was reported."""

    token_id: int | None
    text: str
    position: int | None
    attention: NDArray[np.float32] | None


class CapturedRecord(NamedTuple):
    """A `context` record or a window event, as written."""

    kind: str
    data: dict[str, Any]


class Captured:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self.header = msgspec.json.decode((folder / HEADER_FILE).read_bytes(), type=CaptureHeader)
        except OSError as error:
            raise InputError(f"The folder {folder} does not contain a capture: {error.strerror}.") from error
        except msgspec.MsgspecError as error:
            raise InputError(f"{folder / HEADER_FILE} is not a valid capture header: {error}.") from error
        if self.header.format != FORMAT:
            raise InputError(
                f"The capture in {folder} has format {self.header.format}; this version reads format {FORMAT}."
            )

    def __iter__(self) -> Iterator[CapturedStep | CapturedRecord]:
        """All records in order."""
        with (self._folder / INDEX_FILE).open("rb") as index, (self._folder / ATTENTION_FILE).open("rb") as attention:
            for line in index:
                if not line.endswith(b"\n"):
                    return
                record = msgspec.json.decode(line)
                if record["kind"] == "step":
                    yield self._step(record, attention)
                else:
                    yield CapturedRecord(record.pop("kind"), record)

    def steps(self) -> Iterator[CapturedStep]:
        return (one for one in self if isinstance(one, CapturedStep))

    def _step(self, record: dict[str, Any], attention: Any) -> CapturedStep:
        row = None
        if record["entries"]:
            attention.seek(record["offset"])
            data = attention.read(2 * record["entries"])
            row = np.frombuffer(data, dtype="<f2").astype(np.float32) if len(data) == 2 * record["entries"] else None
        position = None if record["position"] is None else int(record["position"])
        return CapturedStep(record["id"], record["text"], position, row)
