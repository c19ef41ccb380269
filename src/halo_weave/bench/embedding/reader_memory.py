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
from halo_weave.errors import InputError
from halo_weave.memory.memory import open_reader


def reader_memory_mb(texts: Sequence[str]) -> float:
    """Return by how much a new process grows that opens the reader and reads the texts."""
    command = [sys.executable, "-m", "halo_weave.bench.embedding.reader_memory"]
    done = subprocess.run(command, input=msgspec.json.encode(texts), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise InputError("The process that measures the reader's memory failed; see its output above.")
    return msgspec.json.decode(done.stdout, type=float)


def _grown_mb(texts: Sequence[str]) -> float:
    load_library()
    before = resident_mb()
    with closing(open_reader()) as reader:
        for text in texts:
            reader.read([text])
        reader.look(texts[0])
        return resident_mb() - before


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(_grown_mb(msgspec.json.decode(sys.stdin.buffer.read(), type=list[str])))
    )
