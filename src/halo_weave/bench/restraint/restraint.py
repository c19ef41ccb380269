"""`halo-weave bench restraint`: what returns for messages that need no memory, and how long a greeting takes.

Everything is measured in a new window of a memory that holds all conversations of the data.
"""

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import fill_memory, open_cached_embedder, read_all
from halo_weave.bench.restraint.messages import MESSAGES
from halo_weave.config import Settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.protocol import Engine, GenerationSettings
from halo_weave.memory.memory import open_memory
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.session.hub import Hub
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.recalling import plan_context
from halo_weave.session.turn.turn import send
from halo_weave.session.window.words import ChunkSizes

GREETING = "Hello!"
_DATABASE = "halo.db"
_WINDOW = WindowSettings(generation=GenerationSettings(max_tokens=32, temperature=0))
_NO_END = 2**62


def run(settings: Settings, data: Path, repeats: int, notify: Progress) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
        turns = _fill(folder / "full", settings, data, notify)
        (folder / "empty").mkdir()
        engine = stack.enter_context(closing(open_engine(settings.engine)))
        notify("sending messages that need no memory")
        with _hub(folder / "full", settings, engine) as hub:
            returned = _returned(hub)
        notify(f"greeting {2 * repeats} times")
        waits: dict[str, list[float]] = {"full": [], "empty": []}
        for _ in range(repeats):
            for name, measured in waits.items():
                measured.append(_first_token_s(folder / name, folder / "copy", settings, engine))
    return {
        "turns": turns,
        **_figures([tokens for _, _, tokens in returned]),
        "by_kind": _grouped((kind, tokens) for _, kind, tokens in returned),
        "by_language": _grouped((language, tokens) for language, _, tokens in returned),
        "first_token_ratio": median(waits["full"]) / median(waits["empty"]),
        "first_token_ms": 1000 * median(waits["full"]),
        "first_token_empty_ms": 1000 * median(waits["empty"]),
    }


def _fill(folder: Path, settings: Settings, data: Path, notify: Progress) -> int:
    folder.mkdir()
    conversations = read_conversations(data)
    with (
        closing(open_cached_embedder(settings, notify)) as embedder,
        closing(SqliteStore(folder / _DATABASE)) as store,
    ):
        fill_memory(store, embedder, conversations, notify)
        store.serve_embedder(embedder.name)  # otherwise the search would go by words alone
        if attention := read_all(settings, store, notify):
            attention.close()
    return len(conversations.turns)


@contextmanager
def _hub(folder: Path, settings: Settings, engine: Engine) -> Iterator[Hub]:
    with closing(open_memory(folder / _DATABASE, settings.embedder, settings.search, settings.reader)) as memory:
        sizes = ChunkSizes(settings.memory.chunk_min_tokens, settings.memory.chunk_max_tokens)
        with closing(Hub(engine, memory, _WINDOW, sizes)) as hub:
            memory.open_reader()
            memory.recollect(GREETING, limit=1)  # opens the embedder and the index files
            yield hub


def _returned(hub: Hub) -> list[tuple[str, str, int]]:
    """Return each message's language, kind and returned tokens. Nothing is written, so none finds another."""
    window = hub.open("nothing needed")
    budget = window.usable_tokens - _WINDOW.generation.max_tokens
    return [
        (language, kind, plan_context(window, message, budget, before=_NO_END).returned_tokens)
        for language, kinds in MESSAGES.items()
        for kind, messages in kinds.items()
        for message in messages
    ]


def _first_token_s(original: Path, copy: Path, settings: Settings, engine: Engine) -> float:
    """Time a greeting in a copy of the memory, so that one greeting does not find another."""
    shutil.copytree(original, copy)
    try:
        with _hub(copy, settings, engine) as hub:
            return send(hub.open("new"), GREETING).figures.first_token_s
    finally:
        shutil.rmtree(copy)


def _grouped(pairs: Iterator[tuple[str, int]]) -> dict[str, dict[str, float]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for name, tokens in pairs:
        groups[name].append(tokens)
    return {name: _figures(tokens) for name, tokens in groups.items()}


def _figures(tokens: Sequence[int]) -> dict[str, float]:
    return {
        "messages": len(tokens),
        "returned_tokens_mean": float(np.mean(tokens)),
        "silent_share": float(np.mean([one == 0 for one in tokens])),
    }
