"""The engines that the contract suite covers; servers are real ones on loopback."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from halo_weave.engine import Engine
from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_client.client import KoboldEngine
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.openai_client.client import OpenAIEngine
from halo_weave.paths import bundled_model_path
from halo_weave.server.kobold.server import serving
from support.servers.llama_server import running_llama_server

ENGINES = ("echo", "llamacpp", "kobold with echo", "kobold with llamacpp", "openai")


@contextmanager
def open_for_contract(request: pytest.FixtureRequest) -> Iterator[Engine]:
    kind: str = request.param
    if kind == "echo":
        yield EchoEngine()
    elif kind == "llamacpp":
        yield _llama(request)
    elif kind == "openai":
        with running_llama_server(bundled_model_path()) as url, closing(OpenAIEngine(url)) as engine:
            yield engine
    else:
        behind: Engine = EchoEngine() if kind.endswith("echo") else _llama(request)
        with serving(behind) as url, closing(KoboldEngine(url)) as engine:
            yield engine


def _llama(request: pytest.FixtureRequest) -> LlamaEngine:
    engine: LlamaEngine = request.getfixturevalue("llama_engine")
    return engine
