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

# Real models and servers are slow on a busy machine, so no test has a deadline. Examples are the same on every run, so
# that a failure belongs to the change that caused it. HALO_TEST_FULL=1 searches for new examples, and for many more.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True)
settings.register_profile("searching", _PATIENT, max_examples=2000, print_blob=True)
settings.load_profile("searching" if os.environ.get("HALO_TEST_FULL") else "repeatable")


_LONG = ("bench/", "web/", "engine/llamacpp/", "server/mcp/", "session/test_long_run", "terminal/chat/test_in_a")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow files first, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: not item.path.relative_to(TESTS).as_posix().startswith(_LONG))


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests away from the folders and settings of the person who runs them."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("HALO_")]:
        del os.environ[name]
    os.environ["HALO_HOME"] = str(tmp_path_factory.mktemp("halo-home"))
    os.environ["HALO_READER_KIND"] = "off"  # tests of the reader turn it on; others need not wait for it
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    """A factory that opens the same memory any number of times."""
    with fresh_memory(request.param, tmp_path / "memory") as factory:
        yield factory


@pytest.fixture
def store(open_again: StoreFactory) -> Store:
    return open_again()


@pytest.fixture(params=STORES)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A different memory from `store`."""
    with fresh_memory(request.param, tmp_path / "other") as factory:
        yield factory()


@pytest.fixture(params=STORES, scope="module")
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty memory for tests that must not change it. It is shared, because creating one per test would be slow."""
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
    """Not session-wide: while Playwright runs, other tests cannot run an event loop of their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def echo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A shared server. Resurrection is off, so that tests do not find each other's text in the memory."""
    arguments = (*ECHO, "--set", "weave.resurrection=false", "--port", "0")
    with running(tmp_path_factory.mktemp("served"), *arguments) as process:
        process.wait_until_ready()
        yield process


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A shared server with the bundled model at temperature 0."""
    arguments = ("--set", "generation.temperature=0", "--no-browser", "--port", "0")
    with running(tmp_path_factory.mktemp("served"), *arguments) as process:
        process.wait_until_ready()
        yield process
