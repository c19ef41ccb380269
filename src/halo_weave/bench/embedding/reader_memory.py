"""The memory that the reader takes, measured in a process of its own.

The process loads the library first, as the chat model does anyway, and then grows by the reader alone.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing

import msgspec

from halo_weave.bench.resident_memory import resident_mb
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.reader.choice import open_reader
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.errors import InputError


class _Task(msgspec.Struct, frozen=True):
    settings: ReaderSettings
    texts: list[str]


def reader_memory_mb(settings: ReaderSettings, texts: Sequence[str]) -> float:
    """Return by how much a new process grows that opens the reader and reads the texts."""
    command = [sys.executable, "-m", "halo_weave.bench.embedding.reader_memory"]
    task = msgspec.json.encode(_Task(settings, list(texts)))
    done = subprocess.run(command, input=task, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise InputError("The process that measures the reader's memory failed; see its output above.")
    return msgspec.json.decode(done.stdout, type=float)


def _grown_mb(task: _Task) -> float:
    load_library()
    before = resident_mb()
    with closing(open_reader(task.settings)) as reader:
        for text in task.texts:
            reader.read([text])
        reader.look(task.texts[0])
        return resident_mb() - before


if __name__ == "__main__":
    grown_mb = _grown_mb(msgspec.json.decode(sys.stdin.buffer.read(), type=_Task))
    sys.stdout.buffer.write(msgspec.json.encode(grown_mb))
