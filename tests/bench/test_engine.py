"""The measuring code of `bench engine`, on small contexts with known answers."""

import numpy as np
import pytest

from halo_weave.bench import engine as bench
from halo_weave.bench.texts import TokenStream
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import InputError


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"CONTEXT_TOKENS": 80, "MOVED_TOKENS": 20, "STEPS": 3, "CYCLE_BUDGET": 120, "CHUNK_TOKENS": 20}
    small["PROBED_TOKENS"] = 2
    for name, value in small.items():
        monkeypatch.setattr(bench, name, value)


@pytest.mark.usefixtures("_small")
def test_all_figures_are_there_and_the_exact_ones_are_right(llama_engine: LlamaEngine) -> None:
    forgetful = LlamaEngine(EngineSettings(context_tokens=2048, kept_rows_mb=0))
    row_error = bench._RowError()
    told: list[str] = []
    try:
        figures = {
            **bench.measure_capture(llama_engine, 2, row_error, told.append),
            **bench.measure_edits(llama_engine, forgetful, 2, told.append),
            **bench.measure_drift(llama_engine, forgetful, 4, row_error, told.append),
        }
    finally:
        forgetful.close()
    assert {"capture_overhead", "bury_speedup", "resurrect_speedup", "resurrect_kept_speedup"} <= figures.keys()
    assert {"edit_kl", "edit_top1_agreement", "edit_attention_correlation"} <= figures.keys()
    assert all(figures[name] > 0 for name in figures if name.endswith(("speedup", "overhead")))
    assert 0 <= figures["edit_kl"] < 0.5
    assert 0 < row_error.largest < 1e-3
    assert row_error.rows == 2 * bench.STEPS + 4
    assert told


def test_the_drift_of_a_context_from_itself_is_nothing_and_from_another_is_much(llama_engine: LlamaEngine) -> None:
    stream = TokenStream(llama_engine)
    first, second = stream.take(60), stream.take(60)
    contexts = [llama_engine.open_context() for _ in range(3)]
    for context, tokens in zip(contexts, (first, first, second), strict=True):
        context.sync(tokens)
    same, other = bench._Drift(), bench._Drift()
    same.compare(contexts[0], contexts[1])
    other.compare(contexts[0], contexts[2])
    assert same.figures()["kl"] == pytest.approx(0, abs=1e-6)
    assert same.figures()["top1_agreement"] == 1
    assert same.figures()["attention_correlation"] == pytest.approx(1)
    assert other.figures()["kl"] > 0.1
    assert other.figures()["attention_correlation"] < 0.9
    for context in contexts:
        context.close()


def test_a_row_that_does_not_sum_to_one_is_noticed() -> None:
    row_error = bench._RowError()
    row_error.add(np.array([0.5, 0.5], dtype=np.float32))
    row_error.add(np.array([0.5, 0.25], dtype=np.float32))
    assert row_error.largest == 0.25


def test_each_cycle_buries_and_resurrects_within_the_budget(llama_engine: LlamaEngine) -> None:
    seen_returns = 0
    for wanted, probe, returned in bench._cycles(llama_engine, 12):
        assert len(wanted) + len(probe) <= bench.CYCLE_BUDGET
        assert [token.position for token in wanted] == sorted({token.position for token in wanted})
        seen_returns += returned
    assert seen_returns > 0


def test_the_same_stream_of_text_comes_every_time(llama_engine: LlamaEngine) -> None:
    assert TokenStream(llama_engine).take(300) == TokenStream(llama_engine).take(300)
    assert TokenStream(llama_engine, seed=9).take(300) != TokenStream(llama_engine).take(300)


def test_an_engine_elsewhere_cannot_be_measured_here() -> None:
    with pytest.raises(InputError, match="kobold"):
        bench.run(Settings(engine=EngineSettings(kind="kobold", url="http://127.0.0.1:9")))
