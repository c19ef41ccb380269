"""A cache of outcomes, so that nothing is measured twice with the same code, settings and data."""

import functools
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import halo_weave
from halo_weave.config import Settings

_MEASURED_PARTS = ("engine", "memory", "session", "text", "weave", "bench/policies", "bench/nextturn")


class OutcomeRow(msgspec.Struct, frozen=True):
    """One question under one policy; `log_likelihood` is None if the question was not put to the model."""

    question: int
    evidence: float
    tokens: int
    log_likelihood: float | None = None


class PolicyOutcome(msgspec.Struct, frozen=True):
    """One conversation under one policy."""

    rows: list[OutcomeRow]
    decoded_per_turn: float | None = None


class KeptOutcomes:
    def __init__(self, path: Path, *circumstances: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, outcome BLOB) WITHOUT ROWID")
        self._circumstances = circumstances

    def get(self, *job: Any) -> PolicyOutcome | None:
        row = self._database.execute("SELECT outcome FROM outcomes WHERE key = ?", (self._key(job),)).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=PolicyOutcome)

    def put(self, outcome: PolicyOutcome, *job: Any) -> None:
        row = (self._key(job), msgspec.json.encode(outcome))
        self._database.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", row)

    def close(self) -> None:
        self._database.close()

    def _key(self, job: tuple[Any, ...]) -> bytes:
        return hashlib.sha256(msgspec.json.encode([*self._circumstances, *job])).digest()


@functools.cache
def code_in_use() -> str:
    """Return a digest of all code that the figures depend on, computed once at the first call."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def settings_in_use(settings: Settings) -> Any:
    """Return the settings that the figures depend on, without API keys."""
    chosen = msgspec.to_builtins(settings)
    for section, name in (("engine", "api_key"), ("engine", "threads"), ("embedder", "api_key")):
        chosen[section].pop(name, None)
    return {name: chosen[name] for name in ("engine", "embedder", "search", "chat", "weave", "brightness")}


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sources() -> Iterator[Path]:
    package = Path(halo_weave.__file__).parent
    for part in _MEASURED_PARTS:
        yield from sorted((package / part).glob("**/*.py"))
