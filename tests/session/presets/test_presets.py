"""Presets are kept in one file, checked before they are saved, and read again as they were."""

from pathlib import Path

import pytest

from halo_weave.errors import InputError, SettingError
from halo_weave.session.presets import presets as presets_module
from halo_weave.session.presets.presets import Preset, Presets, checked_preset

WARM = Preset("Warm", {"generation.temperature": 1.2, "chat.note": "Be warm."})
COLD = Preset("cold", {"generation.temperature": 0.1})


def test_presets_come_back_by_name_and_a_saved_one_replaces_its_namesake(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "presets.json"
    assert Presets(file).all() == []
    for preset in (WARM, COLD, Preset("Warm", {"generation.top_k": 5})):
        Presets(file).save(preset)
    assert Presets(file).all() == [COLD, Preset("Warm", {"generation.top_k": 5})]
    Presets(file).delete("cold")
    assert [preset.name for preset in Presets(file).all()] == ["Warm"]
    assert [one.name for one in file.parent.iterdir()] == ["presets.json"]


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    Presets(tmp_path / "presets.json").save(WARM)
    assert (tmp_path / "presets.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (" ", {}, "1 to 200 printable characters"),
        ("two\nlines", {}, "1 to 200 printable characters"),
        ("x", {"weave.budget_tokens": 5}, "weave.budget_tokens is neither"),
        ("x", {"generation.warmth": 5}, "no setting generation.warmth"),
        ("x", {"generation.temperature": 50}, "not valid"),
    ],
)
def test_what_is_no_preset_is_refused(name: str, settings: dict[str, object], words: str) -> None:
    with pytest.raises((InputError, SettingError), match=words):
        checked_preset(name, settings)


def test_a_preset_that_is_not_there_cannot_be_deleted(tmp_path: Path) -> None:
    Presets(tmp_path / "presets.json").save(WARM)
    with pytest.raises(InputError, match="no preset 'Cold'"):
        Presets(tmp_path / "presets.json").delete("Cold")
    assert Presets(tmp_path / "presets.json").all() == [WARM]


def test_presets_are_bounded_in_number_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    presets = Presets(tmp_path / "presets.json")
    presets.save(WARM)
    monkeypatch.setattr(presets_module, "MOST_PRESETS", 1)
    with pytest.raises(InputError, match="There are 1 presets"):
        presets.save(COLD)
    monkeypatch.setattr(presets_module, "MOST_PRESETS", 2)
    monkeypatch.setattr(presets_module, "MOST_BYTES", 200)
    with pytest.raises(InputError, match="more than the limit of 200"):
        presets.save(Preset("long", {"chat.note": "x" * 200}))
    assert presets.all() == [WARM]


def test_a_file_that_is_damaged_is_named_and_stays(tmp_path: Path) -> None:
    (tmp_path / "presets.json").write_text("[{", encoding="utf-8")
    with pytest.raises(SettingError, match="Cannot read the presets"):
        Presets(tmp_path / "presets.json").save(WARM)
    assert (tmp_path / "presets.json").read_text(encoding="utf-8") == "[{"
