"""Settings come in layers, and each value is checked against its annotation."""

import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave import paths
from halo_weave.config import (
    HIDDEN_VALUE,
    SettingDescription,
    Settings,
    config_text,
    describe_settings,
    former_setting_notices,
    load_settings,
    present_value,
    setting_sources,
)
from halo_weave.errors import SettingError
from halo_weave.former_settings import FORMER_SETTINGS
from halo_weave.server.api import settings_file

DESCRIPTIONS = {setting.name: setting for setting in describe_settings()}
BOUNDED = [setting for setting in DESCRIPTIONS.values() if setting.minimum is not None or setting.maximum is not None]
BUNDLED = Path(paths.BUNDLED_MODEL_FILE).stem
NOWHERE = Path("there is no such file")

texts = st.text(st.characters(codec="utf-8"))


def allowed_values(setting: SettingDescription) -> st.SearchStrategy[Any]:
    if setting.choices:
        return st.sampled_from(setting.choices)
    match setting.type.removesuffix(" or none"):
        case "true or false":
            return st.booleans()
        case "whole number":
            assert setting.minimum is not None
            assert setting.maximum is not None
            numbers = st.integers(int(setting.minimum), int(setting.maximum))
            return st.none() | numbers if setting.type.endswith(" or none") else numbers
        case "number":
            is_excluded = "above" in setting.allowed
            return st.floats(setting.minimum, setting.maximum, exclude_min=is_excluded)
        case "list of texts":
            return st.lists(texts, max_size=3).map(tuple)
        case _:
            return texts


def named_values() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: allowed_values(DESCRIPTIONS[name]) for name in DESCRIPTIONS})


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value)


def as_toml(values: Mapping[str, Any]) -> str:
    """Write each setting as `section.name = value`. TOML has no null, so a setting that is None is left out."""
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
        for name, value in values.items()
        if value is not None
    ]
    return "\n".join(lines)


def as_environment(values: Mapping[str, Any]) -> dict[str, str]:
    return {f"HALO_{name.replace('.', '_').upper()}": as_text(value) for name, value in values.items()}


def value_of(settings: Settings, name: str) -> Any:
    section, _, field = name.partition(".")
    return getattr(getattr(settings, section), field)


def load(
    overrides: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None, toml: str | None = None
) -> Settings:
    if toml is None:
        return load_settings(overrides or {}, environ or {}, NOWHERE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.toml"
        file.write_text(toml, encoding="utf-8", newline="")
        return load_settings(overrides or {}, environ or {}, file)


def test_without_any_layer_the_defaults_stand() -> None:
    settings = load()
    assert settings == Settings()
    for name, setting in DESCRIPTIONS.items():
        assert value_of(settings, name) == setting.default


@given(named_values())
def test_every_allowed_value_comes_through_every_layer_unchanged(values: dict[str, Any]) -> None:
    overrides = {name: as_text(value) for name, value in values.items()}
    for settings in (load(overrides), load(environ=as_environment(values)), load(toml=as_toml(values))):
        for name, value in values.items():
            assert value_of(settings, name) == value


@given(named_values(), named_values(), named_values())
def test_the_last_layer_that_names_a_setting_wins(
    in_file: dict[str, Any], in_environment: dict[str, Any], in_command: dict[str, Any]
) -> None:
    in_file = {name: value for name, value in in_file.items() if value is not None}
    settings = load(
        {name: as_text(value) for name, value in in_command.items()}, as_environment(in_environment), as_toml(in_file)
    )
    expected = {name: setting.default for name, setting in DESCRIPTIONS.items()}
    for layer in (in_file, in_environment, in_command):
        expected |= layer
    assert {name: value_of(settings, name) for name in DESCRIPTIONS} == expected


@given(named_values())
def test_settings_survive_json(values: dict[str, Any]) -> None:
    settings = load({name: as_text(value) for name, value in values.items()})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings


@pytest.mark.parametrize("setting", BOUNDED, ids=lambda setting: setting.name)
def test_a_value_outside_its_range_is_refused_with_name_source_value_and_range(setting: SettingDescription) -> None:
    variable = next(iter(as_environment({setting.name: 0})))
    beyond = [bound for bound in (_below(setting), _above(setting)) if bound is not None]
    assert beyond
    for value in beyond:
        text = as_text(value)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"overrides": {setting.name: text}}, "the command line"),
            ({"environ": {variable: text}}, f"the environment variable {variable}"),
            ({"toml": f"{setting.name} = {text}"}, "config.toml"),
        ]
        for layers, source in cases:
            with pytest.raises(SettingError) as refusal:
                load(**layers)
            for part in (setting.name, source, text, setting.allowed):
                assert part in str(refusal.value)


def _below(setting: SettingDescription) -> float | None:
    return None if setting.minimum is None else setting.minimum - (1 if "above" not in setting.allowed else 0)


def _above(setting: SettingDescription) -> float | None:
    return None if setting.maximum is None else setting.maximum + (1 if "below" not in setting.allowed else 0)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_what_is_no_finite_number_is_refused_everywhere(text: str) -> None:
    for name, setting in DESCRIPTIONS.items():
        if "number" not in setting.type:
            continue
        with pytest.raises(SettingError, match=name):
            load({name: text})
        with pytest.raises(SettingError, match=name):
            load(toml=f"{name} = {text}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("generation.temperature", "warm"),
        ("generation.temperature", ""),
        ("generation.top_k", "1.5"),
        ("generation.seed", "some"),
        ("generation.stop", '["open'),
        ("generation.stop", "[1, 2]"),
        ("engine.kind", "abacus"),
        ("tools.is_on", "perhaps"),
    ],
)
def test_text_of_the_wrong_kind_is_refused_with_what_is_allowed(name: str, text: str) -> None:
    with pytest.raises(SettingError) as refusal:
        load({name: text})
    assert str(refusal.value).startswith(f"{name} from the command line is ")
    assert str(refusal.value).endswith(f"but must be {DESCRIPTIONS[name].allowed}.")


@pytest.mark.parametrize(
    "line",
    [
        'generation.temperature = "0.5"',
        "generation.top_k = true",
        "generation.top_k = 1.5",
        "engine.model = 5",
        "tools.is_on = 1",
        'generation.stop = "one"',
        "chat.system_prompt = ['a']",
        "generation.max_tokens = 1979-05-27",
    ],
)
def test_the_file_takes_values_of_the_right_type_only(line: str) -> None:
    name = line.partition(" ")[0]
    with pytest.raises(SettingError, match=rf"^{name} from the file .*config\.toml is .*, but must be"):
        load(toml=line)


def test_a_bad_value_is_refused_even_where_a_later_layer_would_hide_it() -> None:
    with pytest.raises(SettingError, match=r"generation\.temperature from the file"):
        load({"generation.temperature": "1"}, toml="generation.temperature = 99")


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({"overrides": {"generation.temprature": "1"}}, "did you mean generation.temperature?"),
        ({"overrides": {"temperature": "1"}}, "the command line"),
        ({"overrides": {"": "1"}}, "run `halo-weave settings` for a list."),
        ({"overrides": {"engine": "1"}}, "There is no setting engine "),
        ({"environ": {"HALO_GENERATION_TEMPRATURE": "1"}}, "did you mean HALO_GENERATION_TEMPERATURE?"),
        ({"environ": {"HALO_ANYTHING": "1"}}, "There is no setting HALO_ANYTHING ('1' from the environment)"),
        ({"toml": "[generation]\ntemprature = 1"}, "did you mean generation.temperature?"),
        ({"toml": "[generatoin]\ntemperature = 1"}, "did you mean generation?"),
        ({"toml": "temperature = 1"}, "There is no setting temperature"),
        ({"toml": "engine.kind.more = 1"}, "engine.kind from the file"),
    ],
)
def test_an_unknown_name_is_refused_with_its_source_and_a_way_out(layers: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as refusal:
        load(**layers)
    assert message in str(refusal.value)


def test_a_former_setting_is_ignored_in_every_layer_and_everything_else_counts() -> None:
    former = dict.fromkeys(FORMER_SETTINGS, "anything")
    settings = load(
        former | {"generation.top_k": "1"},
        as_environment(former | {"generation.top_p": 0.5}),
        as_toml(former | {"generation.min_p": 0.5}),
    )
    expected = {"generation.top_k": "1", "generation.top_p": "0.5", "generation.min_p": "0.5"}
    assert settings == load(expected)


@pytest.mark.parametrize("name", FORMER_SETTINGS)
def test_each_former_setting_gets_one_notice_that_says_where_it_stands_and_what_holds_now(
    name: str, tmp_path: Path
) -> None:
    file, variable = tmp_path / "config.toml", next(iter(as_environment({name: 1})))
    file.write_text(f"{name} = 1\ngeneration.top_k = 1")
    for layers, source in (
        (({name: "1", "generation.top_k": "1"}, {}, NOWHERE), "from the command line"),
        (({}, {variable: "1", "HALO_HOME": "x"}, NOWHERE), f"from the environment variable {variable}"),
        (({}, {}, file), f"in the file {file}"),
    ):
        assert former_setting_notices(*layers) == [
            f"{name} {source} is no longer a setting and is ignored: {FORMER_SETTINGS[name]}."
        ]
    assert former_setting_notices({}, {}, NOWHERE) == []


def test_no_setting_of_today_is_former() -> None:
    assert not FORMER_SETTINGS.keys() & DESCRIPTIONS.keys()
    for replaced in FORMER_SETTINGS.values():
        named = [word.rstrip(";,") for word in replaced.split() if "." in word]
        assert all(name in DESCRIPTIONS for name in named)


def test_halo_home_and_the_variables_of_others_are_no_settings() -> None:
    assert load(environ={"HALO_HOME": "somewhere", "HALOGEN": "1", "PATH": "x"}) == Settings()


def test_a_section_that_is_no_table_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^engine in the file .* is 5, but must be a table \[engine\]\.$"):
        load(toml="engine = 5")


@pytest.mark.parametrize("content", [b"= nonsense", b"[engine", b'chat.system_prompt = "\xff"'])
def test_a_file_that_is_not_toml_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(SettingError) as refusal:
        load_settings({}, {}, file)
    assert str(refusal.value).startswith(f"The file {file} is not valid TOML: ")
    assert "\n" not in str(refusal.value)


def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        load_settings({}, {}, tmp_path)


DEEP_TOML = [
    "a = " + "[" * 20_000,
    "engine.url = " + "[" * 20_000 + "]" * 20_000,
    "engine.url = " + "{a=" * 20_000 + "1" + "}" * 20_000,
    "[engine" + ".a" * 20_000 + "]",
    "engine" + ".a" * 2_000 + " = 1",
]


@pytest.mark.parametrize("content", DEEP_TOML)
def test_a_file_that_is_nested_too_deeply_is_refused_in_one_sentence(tmp_path: Path, content: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(content)
    with pytest.raises(SettingError, match=rf"^The file {file} is nested too deeply.*\.$"):
        load_settings({}, {}, file)
    with pytest.raises(SettingError, match=r"nested more than 100 levels deep.*\.$"):
        settings_file.changed(content, {"engine.url": "x"})


def test_a_byte_order_mark_is_no_part_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[engine]\r\nthreads = 3\r\n")
    assert load_settings({}, {}, file).engine.threads == 3
    settings_file.replace(file, settings_file.changed(config_text(file), {"engine.threads": 4}))
    assert load_settings({}, {}, file).engine.threads == 4


def test_a_file_that_is_too_large_for_settings_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# " + "x" * 1_100_000)
    for read in (config_text, lambda file: load_settings({}, {}, file)):
        with pytest.raises(SettingError, match=r"more than 1 MB.*\.$"):
            read(file)


@pytest.mark.parametrize("content", [b"\xff\xfea\x00", b"engine.threads = " + b"9" * 5000, b"a = \x00", None])
def test_each_reader_of_the_file_refuses_it_in_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "config.toml"
    file.mkdir() if content is None else file.write_bytes(content)

    def change(file: Path) -> None:
        settings_file.changed(config_text(file), {"engine.threads": 4})

    for use in (change, lambda file: load_settings({}, {}, file)):
        with pytest.raises(SettingError) as refused:
            use(file)
        assert "\n" not in str(refused.value)
        assert str(refused.value).endswith(".")


def test_a_list_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(SettingError, match=r"generation\.stop"):
        load_settings({"generation.stop": "[" * 20_000}, {}, NOWHERE)


def test_a_list_may_be_one_plain_text() -> None:
    assert load({"generation.stop": "###"}).generation.stop == ("###",)
    assert load({"generation.stop": ""}).generation.stop == ()
    assert load({"generation.stop": '["a", "b"]'}).generation.stop == ("a", "b")


def test_the_memory_is_where_the_settings_say_or_in_the_data_folder(tmp_path: Path) -> None:
    assert Settings().memory.file == paths.memory_file()
    assert load({"memory.path": str(tmp_path / "mine.db")}).memory.file == tmp_path / "mine.db"
    assert load({"memory.path": "~/mine.db"}).memory.file == Path.home() / "mine.db"
    assert load({"memory.path": "mine.db"}).memory.file == Path.cwd() / "mine.db"


def test_keys_are_never_shown() -> None:
    settings = load({"engine.api_key": "secret"})
    assert settings.engine.api_key == "secret"
    assert present_value(settings, "engine.api_key") == HIDDEN_VALUE
    assert present_value(Settings(), "engine.api_key") == ""
    with pytest.raises(SettingError) as refusal:
        load(toml="engine.api_key = 12345")
    assert "12345" not in str(refusal.value)


def test_a_very_long_value_is_cut_in_the_refusal() -> None:
    with pytest.raises(SettingError) as refusal:
        load({"generation.top_k": "x" * 10_000})
    assert len(str(refusal.value)) < 300


def test_every_setting_is_described() -> None:
    for name, setting in DESCRIPTIONS.items():
        assert setting.help.endswith("."), name
        assert setting.allowed, name
        if "number" in setting.type:
            assert setting.minimum is not None, name
            assert setting.maximum is not None, name
            assert all(math.isfinite(bound) for bound in (setting.minimum, setting.maximum)), name


def test_a_models_defaults_come_after_the_general_ones_and_before_a_persons_own(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    untouched = load_settings({}, {}, file).for_model(BUNDLED)
    assert untouched.generation.phrase_penalty == 0.8
    assert load_settings({}, {}, file).for_model("another model") == load_settings({}, {}, file)
    file.write_text("[generation]\nphrase_penalty = 0.0\n", encoding="utf-8")
    assert load_settings({}, {}, file).for_model(BUNDLED).generation.phrase_penalty == 0.0


def test_each_value_tells_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[generation]\nrepeat_penalty = 1.3\n", encoding="utf-8")
    sources = setting_sources({"generation.seed": "5"}, {"HALO_GENERATION_TOP_K": "7"}, file, BUNDLED)
    told = [sources[f"generation.{name}"] for name in ("top_p", "phrase_penalty", "repeat_penalty", "top_k", "seed")]
    assert told == ["default", "model", "file", "environment", "command line"]
