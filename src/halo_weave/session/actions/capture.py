"""Writes what the model reads and attends to into a folder, for study; `weave.captured` reads it.

If a capture fails, for example because the disk is full or the folder is gone, it ends without disturbing the chat.
"""

import threading
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from halo_weave import __version__
from halo_weave.engine.protocol import Attention
from halo_weave.errors import InputError
from halo_weave.records.numbers import text_of_number
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.events import Event
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import Word
from halo_weave.system.private_files import make_private_folder, new_private_file
from halo_weave.weave.captured import ATTENTION_FILE, FORMAT, HEADER_FILE, INDEX_FILE, CaptureHeader
from halo_weave.weave.layout import Layout

_LEFT_OUT = ("token", "brightness", "status")
"""Events that add nothing to the recorded steps."""


def start_capture(window: Window, folder: Path) -> "Capture":
    with window.working("starting a capture"):
        if window.is_private:
            raise InputError("This window is private, and a capture would write it to a folder; nothing was started.")
        if window.recorder is not None:
            raise InputError(f"The window {window.name} is already being captured; stop that capture first.")
        capture = Capture(window, folder)
        window.record_with(capture)
        window.log.listen(capture.note_event)
        return capture


def stop_capture(window: Window) -> None:
    with window.working("ending a capture"):
        if window.recorder is None:
            raise InputError(f"The window {window.name} is not being captured.")
        window.recorder.finish()
        window.log.stop_listening(window.recorder.note_event)
        window.record_with(None)


class Capture:
    """Creates the folder; `finish` closes it. One thread may record while another one calls `finish`."""

    def __init__(self, window: Window, folder: Path) -> None:
        self._window = window
        self.folder = folder
        self.steps = 0
        self._offset = 0
        self._lock = threading.Lock()
        self._is_over = False
        header = CaptureHeader(
            format=FORMAT,
            program=__version__,
            window=window.id,
            name=window.name,
            model=window.engine.facts.name,
            scorer=window.scorer.name,
            started_at=window.clock(),
        )
        try:
            if not folder.parent.exists():
                make_private_folder(folder.parent)
            folder.mkdir(mode=0o700)
            with new_private_file(folder / HEADER_FILE) as file:
                file.write(msgspec.json.encode(header))
            self._index = new_private_file(folder / INDEX_FILE)
            self._attention = new_private_file(folder / ATTENTION_FILE)
        except FileExistsError:
            raise InputError(f"The folder {folder} already exists; name a new folder for the capture.") from None
        except OSError as error:
            raise InputError(f"Cannot write the capture to {folder}: {error.strerror}.") from error

    def note_context(self, layout: Layout) -> None:
        """Record the context that the model reads before it writes."""
        self._note(
            {
                "kind": "context",
                "ids": [placed.token_id for placed in layout.placed],
                "chunks": [
                    {
                        "key": key_to_json(chunk.key),
                        "position": text_of_number(chunk.first_position),
                        "start": start,
                        "end": end,
                        "pieces": [token.text for token in chunk.tokens],
                        "peak": chunk.peak,
                    }
                    for chunk, start, end in layout.spans
                ],
            }
        )

    def note_step(self, word: Word | None, attention: Attention | None) -> None:
        """Record a token of the reply (None for the step that ended it) and the attention that chose it."""
        row = b"" if attention is None else np.asarray(attention, dtype="<f2").tobytes()
        self._note(
            {
                "kind": "step",
                "id": None if word is None else word.id,
                "text": "" if word is None else word.text,
                "position": None if word is None else text_of_number(word.position),
                "offset": self._offset,
                "entries": len(row) // 2,
            },
            row,
        )

    def note_event(self, event: Event) -> None:
        if event.kind not in _LEFT_OUT:
            self._note({"kind": event.kind, **event.data})

    def finish(self) -> None:
        with self._lock:
            self._end()

    def _note(self, record: dict[str, Any], row: bytes = b"") -> None:
        with self._lock:
            if self._is_over:
                return
            error = self._write(record, row)
        if error is not None:
            window = self._window
            window.log.tell("notice", text=f"The capture stopped: {error.strerror}; {self.steps} steps are kept.")

    def _write(self, record: dict[str, Any], row: bytes) -> OSError | None:
        try:
            # Write the row first, so that an index entry never points past the end of the file.
            if row:
                self._attention.write(row)
                self._attention.flush()
            self._index.write(msgspec.json.encode(record) + b"\n")
            self._index.flush()
        except OSError as error:
            self._end()
            return error
        self._offset += len(row)
        self.steps += record["kind"] == "step"
        return None

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            for file in (self._attention, self._index):
                try:
                    file.close()
                except OSError:
                    continue  # the failed write was already reported
