"""For those who watch over the program: whether it lives, whether it can be used, and its figures."""

from collections.abc import Mapping

import msgspec

from halo_weave import __version__
from halo_weave.server.api import status
from halo_weave.server.http.endpoints import Call, Endpoint, PlainText
from halo_weave.server.runtime.engine_keeper import EngineState
from halo_weave.server.runtime.program import Program
from halo_weave.system import background

_READINESS: dict[EngineState, str] = {
    "ready": "ready",
    "loading": "The model is being loaded.",
    "away": "The model cannot be used; /api/status says why.",
}


class Alive(msgspec.Struct):
    is_alive: bool
    version: str


def _alive(_: Call) -> Alive:
    return Alive(True, __version__)


def _ready(call: Call) -> PlainText:
    """In general words: this is open to strangers, and why a model is away may name paths and servers."""
    state = call.program.keeper.standing.state
    return PlainText(_READINESS[state] + "\n", 200 if state == "ready" else 503)


def _metrics(call: Call) -> PlainText:
    return PlainText("".join(_lines(call.program)))


def _lines(program: Program) -> list[str]:
    present, figures = status.status(program), program.figures
    memory, sums = present.memory, figures.sums
    lines = [
        _metric("engine_ready", "gauge", "Whether the model can be used.", int(present.engine.state == "ready")),
        _metric("windows_open", "gauge", "Windows that are open.", len(program.open_windows())),
        _metric("queue_length", "gauge", "Replies that wait for their turn.", len(program.turns)),
        _metric("memory_chunks", "gauge", "Chunks in the memory.", memory.chunks),
        _metric("memory_deleted_chunks", "gauge", "Chunks among them that are deleted.", memory.deleted),
        _metric("memory_tokens", "gauge", "Tokens in the memory.", memory.tokens),
        _metric("memory_missing_vectors", "gauge", "Chunks without a vector.", memory.missing_vectors),
        _metric("memory_bytes", "gauge", "Size of the memory's files.", memory.bytes),
        _metric("tokens_generated_total", "counter", "Tokens that the model wrote.", sums["generated"]),
        _metric("tokens_read_total", "counter", "Tokens that the model read.", sums["decoded"]),
        _metric("first_token_seconds_total", "counter", "Time to the first token, summed.", sums["first_token_s"]),
        _metric("reply_seconds_total", "counter", "Time to the whole reply, summed.", sums["reply_s"]),
        _metric("engine_seconds_total", "counter", "Time that the model itself took.", sums["engine_s"]),
        _metric("chunks_buried_total", "counter", "Chunks that left a context.", figures.buried),
        _metric("chunks_resurrected_total", "counter", "Chunks that came back.", figures.resurrected),
        _metric("errors_total", "counter", "Errors told in windows.", figures.errors),
    ]
    lines += _metrics_by("replies_total", "Replies by how they ended.", "ending", figures.endings)
    return lines + _metrics_by(
        "background_failures_total", "Unexpected failures of background threads.", "thread", background.failures()
    )


def _metric(name: str, kind: str, words: str, value: float) -> str:
    return f"# HELP halo_{name} {words}\n# TYPE halo_{name} {kind}\nhalo_{name} {value}\n"


def _metrics_by(name: str, words: str, label: str, values: Mapping[str, int]) -> list[str]:
    return [
        f"# HELP halo_{name} {words}\n# TYPE halo_{name} counter\n",
        *(f'halo_{name}{{{label}="{key}"}} {values[key]}\n' for key in sorted(values)),
    ]


ENDPOINTS = [
    Endpoint("GET", "/healthz", "Whether the program lives.", _alive, Alive),
    Endpoint("GET", "/readyz", "200 if the model can be used, else 503.", _ready, None, media_type="text/plain"),
    Endpoint("GET", "/metrics", "Figures for Prometheus.", _metrics, None, media_type="text/plain; version=0.0.4"),
]
