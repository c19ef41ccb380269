"""A process that works on a memory and reports on standard output, one JSON object per line.

`many` reserves and writes a number of turns. `churn` reserves, writes, deletes, undeletes, puts vectors, embeds again,
forgets and keeps a journal until it is killed: it reports "try" before an operation and "did" once the store has
acknowledged it. `fill` writes until it fails.
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
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey
from support.folders import TESTS, worker_command
from support.made_up_chunks import made_up_chunk

TOKENS = 4
CHUNKS = 3
EMBEDDER = "made-up"
NEWER_EMBEDDER = "newer"
ACTIONS = ("write", "write", "delete", "undelete", "vectors", "embed again", "journal", "journal", "forget")


def start_worker(mode: str, path: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a worker; the caller ends and closes it."""
    command = worker_command("store_worker", mode, path, *arguments)
    return subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def mark_of(turn: int) -> str:
    """Return a word that only this turn's chunks contain."""
    return f"mark-{turn}-end"


def made_up_turn(turn: int, start: int) -> list[Chunk]:
    metadata = {"mark": mark_of(turn)}
    return [
        made_up_chunk(turn, index, first=start + index * TOKENS, count=TOKENS, metadata=metadata)
        for index in range(CHUNKS)
    ]


def write_turn(store: Store) -> int:
    """Write a turn of `CHUNKS` chunks and return its number."""
    reservation = store.reserve(CHUNKS * TOKENS)
    turn, start = reservation.turn_user, reservation.position_start
    say(did="reserve", turn=turn, start=start)
    say(try_="write", turn=turn)
    store.write_chunks(made_up_turn(turn, start))
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
    noted = 0
    while True:
        action = choose.choice(ACTIONS) if own else "write"
        if action == "write":
            own.append(write_turn(store))
        elif action == "journal":
            noted = keep_journal(store, f"w-{seed}", noted)
        else:
            turn = choose.choice(own)
            if action == "forget":
                own.remove(turn)
                change(store, "delete", turn)
            change(store, action, turn)


def change(store: Store, action: str, turn: int) -> None:
    keys = [ChunkKey(turn, index, "user") for index in range(CHUNKS)]
    say(try_=action, turn=turn)
    if action == "vectors":
        put_vectors(store, EMBEDDER, turn)
    elif action == "embed again":
        put_vectors(store, NEWER_EMBEDDER, turn, as_of=store.change_number())
    else:
        {"delete": store.delete, "undelete": store.undelete, "forget": store.forget}[action](keys, "worker")
    say(did=action, turn=turn)


def put_vectors(store: Store, embedder: str, turn: int, as_of: int | None = None) -> None:
    ids = [stored.id for stored in store.chunks_of_turn(turn)]
    vectors = {chunk_id: np.full(8, turn % 100, dtype=np.float16) for chunk_id in ids}
    store.put_vectors(embedder, vectors, as_of=as_of)


def keep_journal(store: Store, window: str, noted: int) -> int:
    """Write the next note, or clear the journal after every ninth."""
    note = (noted + 1) % 10
    say(try_="note", window=window, note=note)
    if note == 0:
        store.journal_clear(window, 1)
    else:
        store.journal_append(window, 1, b"%d" % note)
    say(did="note", window=window, note=note)
    return note


def fill(path: Path, limit_bytes: int) -> None:
    """Limit the size of this process's files, to simulate a full disk."""
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
