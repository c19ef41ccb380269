"""A process of its own that works on a memory and reports through its standard output, a JSON object per line.

`many` reserves and writes a number of turns. `churn` reserves, writes, deletes, undeletes and puts vectors until it is
killed: it says "try" before an operation and "did" once the store has acknowledged it. `fill` writes until it fails.
"""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halo_weave.errors import StoreError
from halo_weave.memory.records import ChunkKey
from halo_weave.memory.sqlite_store import SqliteStore
from halo_weave.memory.store import Store
from made_up_chunks import made_up_chunk

TOKENS = 4
CHUNKS = 3
EMBEDDER = "made-up"


def start_worker(mode: str, path: Path, *arguments: object) -> subprocess.Popen[str]:
    """The caller ends and closes it."""
    command = [sys.executable, __file__, mode, str(path), *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def write_turn(store: Store) -> int:
    """A turn of `CHUNKS` chunks; gives the turn."""
    reservation = store.reserve(CHUNKS * TOKENS)
    turn, start = reservation.turn_user, reservation.position_start
    say(did="reserve", turn=turn, start=start)
    say(try_="write", turn=turn)
    chunks = [made_up_chunk(turn, index, first=start + index * TOKENS, count=TOKENS) for index in range(CHUNKS)]
    store.write_chunks(chunks)
    say(did="write", turn=turn)
    return turn


def many(store: Store, turns: int) -> None:
    say(did="open")
    sys.stdin.readline()
    for _ in range(turns):
        write_turn(store)


def churn(store: Store, seed: int) -> None:
    choose = random.Random(seed)
    say(did="open")
    own: list[int] = []
    while True:
        action = choose.choice(("write", "write", "delete", "undelete", "vectors")) if own else "write"
        if action == "write":
            own.append(write_turn(store))
            continue
        turn = choose.choice(own)
        say(try_=action, turn=turn)
        if action == "vectors":
            put_vectors(store, turn)
        else:
            keys = [ChunkKey(turn, index, "user") for index in range(CHUNKS)]
            (store.delete if action == "delete" else store.undelete)(keys, "worker")
        say(did=action, turn=turn)


def put_vectors(store: Store, turn: int) -> None:
    ids = [stored.id for stored in store.chunks_of_turn(turn)]
    store.put_vectors(EMBEDDER, {chunk_id: np.full(8, turn % 100, dtype=np.float16) for chunk_id in ids})


def fill(path: Path, limit_bytes: int) -> None:
    """No file of this process may grow past the limit: a full disk in small."""
    import resource  # not on Windows
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    try:
        store = SqliteStore(path)
        while True:
            write_turn(store)
    except StoreError as error:
        say(failed=type(error).__name__, message=str(error))


def main(arguments: Sequence[str]) -> None:
    mode, path, number = arguments[0], Path(arguments[1]), int(arguments[2])
    if mode == "fill":
        fill(path, number)
        return
    store = SqliteStore(path)
    (many if mode == "many" else churn)(store, number)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1:])
