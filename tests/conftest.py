import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings

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


@pytest.fixture(scope="session")
def llama_engine(_own_home: None) -> Iterator[LlamaEngine]:
    """The bundled model, loaded once."""
    engine = LlamaEngine(EngineSettings(context_tokens=2048))
    yield engine
    engine.close()
