"""Keys and queries are read as attention uses them, but without positions."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from halo_weave.engine.llamacpp.computation import MAIN, Computation
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.projections import Projected, Projection, ProjectionTap
from halo_weave.errors import EngineError
from support import tiny_models


def projected(path: Path, ids: list[int], wanted: Projection) -> dict[int, Projected]:
    with closing(Model(load_library(), path, gpu_layers=0)) as model:
        tap = ProjectionTap(model, range(model.layers))
        tap.wanted = wanted
        with closing(Computation(model, cells=256, threads=1, tap=tap, flash_attention=True)) as computation:
            computation.decode(ids, 0, MAIN)
            return tap.found


def test_the_same_token_has_the_same_key_wherever_it_stands(tmp_path: Path) -> None:
    keys = projected(tiny_models.write_llama(tmp_path / "tiny.gguf"), [7, 8, 7], "keys")
    assert keys[0].shape == (3, tiny_models.KV_HEADS * tiny_models.HEAD_SIZE)
    assert np.allclose(keys[0][0], keys[0][2])
    assert not np.allclose(keys[0][0], keys[0][1])


@pytest.mark.parametrize(("wanted", "heads"), [("keys", tiny_models.KV_HEADS), ("queries", tiny_models.HEADS)])
def test_normalised_keys_and_queries_are_read_normalised(tmp_path: Path, wanted: Projection, heads: int) -> None:
    found = projected(tiny_models.write_qwen3(tmp_path / "tiny.gguf"), [7, 8, 9], wanted)
    for own in found.values():
        by_head = own.reshape(3, heads, tiny_models.HEAD_SIZE)
        assert np.allclose((by_head**2).mean(axis=2), 1, atol=1e-3)


def test_a_layer_without_attention_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no keys in layer 0"):
        projected(tiny_models.write_lfm2(tmp_path / "tiny.gguf"), [7, 8], "keys")
