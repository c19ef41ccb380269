import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.memory.store import FIRST_POSITION, FIRST_TURN, Store
from store_factories import STORES, StoreFactory, fresh_memory
from transfer_memories import state

# Real models and servers take their time on a busy machine; no test asserts how long.
settings.register_profile("halo-weave", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("halo-weave")


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test touches the folders or settings of the person who runs it."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("HALO_")]:
        del os.environ[name]
    os.environ["HALO_HOME"] = str(tmp_path_factory.mktemp("halo-home"))
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    """A way to open one memory any number of times."""
    with fresh_memory(request.param, tmp_path / "memory") as factory:
        yield factory


@pytest.fixture
def store(open_again: StoreFactory) -> Store:
    return open_again()


@pytest.fixture(params=STORES)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Another memory than `store`."""
    with fresh_memory(request.param, tmp_path / "other") as factory:
        yield factory()


@pytest.fixture(params=STORES, scope="module")
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty memory for tests in which nothing may change: making one for each would take most of the time."""
    with fresh_memory(request.param, tmp_path_factory.mktemp("untouched")) as factory:
        store = factory()
        yield store
        assert state(store) == ([], FIRST_TURN, FIRST_POSITION, 0, [])


@pytest.fixture(scope="session")
def llama_engine(_own_home: None) -> Iterator[LlamaEngine]:
    """The bundled model, loaded once."""
    engine = LlamaEngine(EngineSettings(context_tokens=2048))
    yield engine
    engine.close()
