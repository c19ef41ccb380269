import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser

from halo_weave.bench.chromium import chromium
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN, Store
from support.folders import TESTS
from support.servers.processes import ECHO, Process, running
from support.store_factories import STORES, StoreFactory, fresh_memory
from support.transfer_memories import state

# Real models and servers take their time on a busy machine; no test asserts how long. The same examples each time, so
# that what fails does so for whoever changed it; HALO_TEST_FULL=1 looks for new ones, and for many more of them.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True)
settings.register_profile("searching", _PATIENT, max_examples=2000, print_blob=True)
settings.load_profile("searching" if os.environ.get("HALO_TEST_FULL") else "repeatable")


_LONG = ("bench/", "web/", "engine/llamacpp/", "server/mcp/", "session/test_long_run", "terminal/chat/test_in_a")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, so that no process is left alone with one of them at the end."""
    items.sort(key=lambda item: not item.path.relative_to(TESTS).as_posix().startswith(_LONG))


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for all tests together: while Playwright runs, other tests cannot have an event loop of their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def echo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Nothing returns by itself, so that tests do not meet in the memory that they share."""
    arguments = (*ECHO, "--set", "weave.resurrection=false", "--port", "0")
    with running(tmp_path_factory.mktemp("served"), *arguments) as process:
        process.wait_until_ready()
        yield process


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """With the bundled model, which always chooses the likeliest word."""
    arguments = ("--set", "generation.temperature=0", "--no-browser", "--port", "0")
    with running(tmp_path_factory.mktemp("served"), *arguments) as process:
        process.wait_until_ready()
        yield process
