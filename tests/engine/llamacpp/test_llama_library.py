"""Finding and checking the C library."""

import numpy as np
import pytest

from halo_weave.engine import GenerationSettings
from halo_weave.engine.llamacpp import attention, layout, library
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.llamacpp.library import Library, load_library
from halo_weave.errors import EngineUnavailable
from support.placing import asked


def test_the_installed_library_has_the_known_layout() -> None:
    assert layout.differences(load_library().c) == []
    assert load_library().version.startswith("llama.cpp ")


@pytest.mark.parametrize(
    ("defaults", "field", "value"), [("_CONTEXT_DEFAULTS", "n_ctx", 513), ("_MODEL_DEFAULTS", "use_extra_bufts", False)]
)
def test_another_layout_is_refused_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, defaults: str, field: str, value: object
) -> None:
    monkeypatch.setitem(getattr(layout, defaults), field, value)
    found = load_library()
    with pytest.raises(EngineUnavailable, match=f"layout.*{field}"):
        Library(found.package, found.path)
    found.c.llama_log_set(found._log_callback, None)


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineUnavailable, match="install xllamacpp"):
        library._find()


def test_an_operation_that_does_not_exist_is_named() -> None:
    with pytest.raises(EngineUnavailable, match="NO_SUCH_THING"):
        load_library().operation_number(b"NO_SUCH_THING")


def test_a_record_that_does_not_fit_costs_the_attention_but_not_the_token(
    llama_engine: LlamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "_capacity", lambda _model, _cells: 10_000)
    context = llama_engine.open_context()
    context.sync(asked(llama_engine, "Hello"))
    steps = list(context.generate(GenerationSettings(temperature=0, max_tokens=3)))
    context.close()
    assert all(step.attention is None for step in steps)
    assert steps[0].text


def test_an_exception_while_listening_reaches_the_caller(
    llama_engine: LlamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is raised in a callback from C, where it would be lost; the context reads again afterwards."""

    def failing(*_: object) -> None:
        raise ZeroDivisionError("while listening")

    monkeypatch.setattr("halo_weave.engine.llamacpp.recorder.platform.machine", lambda: "unknown")
    context = llama_engine.open_context()
    wanted = asked(llama_engine, "Hello")
    monkeypatch.setattr(attention.AttentionTap, "_take_layer", failing)
    with pytest.raises(ZeroDivisionError):
        context.sync(wanted)
    monkeypatch.undo()
    assert context.sync(wanted).decoded == len(wanted)
    step = next(context.generate(GenerationSettings(temperature=0, max_tokens=1)))
    assert step.attention is not None
    assert np.isclose(step.attention.sum(), 1, atol=1e-3)
    context.close()
