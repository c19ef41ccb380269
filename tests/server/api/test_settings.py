"""Settings over HTTP: validated as everywhere, written safely, and applied at once where possible."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.server.api.settings_file import changed
from halo_weave.server.running import serving
from halo_weave.server.runtime.program import Program, SettingsLayers
from support.servers.served import Served, served, until

WRITTEN = """# my settings
[generation]
temperature = 0.5  # rather calm
# stop = ["a"]

[chat]
system_prompt = "Be kind."
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "config.toml").write_text(WRITTEN)
    with served(tmp_path, overrides={"generation.seed": "7"}) as one:
        yield one


def listed(server: Served) -> dict[str, dict[str, Any]]:
    return {setting["name"]: setting for setting in server.get("/api/settings")}


def test_each_value_tells_where_it_is_from(server: Served) -> None:
    settings = listed(server)
    assert (settings["generation.temperature"]["value"], settings["generation.temperature"]["source"]) == (0.5, "file")
    assert (settings["generation.seed"]["value"], settings["generation.seed"]["source"]) == (7, "command line")
    assert settings["generation.top_p"]["source"] == "default"
    assert all(setting["help"] for setting in settings.values())


def test_a_change_keeps_what_a_person_wrote(server: Served, tmp_path: Path) -> None:
    server.call("PUT", "/api/settings", {"generation.temperature": 1, "weave.recent_share": 0.5})
    text = (tmp_path / "config.toml").read_text()
    assert "# my settings" in text
    assert "# rather calm" in text
    assert '# stop = ["a"]' in text
    assert tomllib.loads(text)["generation"]["temperature"] == 1.0
    assert tomllib.loads(text)["weave"]["recent_share"] == 0.5


def test_null_brings_the_default_back(server: Served, tmp_path: Path) -> None:
    server.call("PUT", "/api/settings", {"chat.system_prompt": None})
    assert listed(server)["chat.system_prompt"]["source"] == "default"
    assert "system_prompt" not in (tmp_path / "config.toml").read_text()


def test_what_is_not_allowed_changes_nothing(server: Served, tmp_path: Path) -> None:
    for bad in (
        {"generation.temperature": 99},
        {"generation.temperature": "hot"},
        {"generation.top_p": 0.5, "generation.nothing": 1},
        {"nothing": None},
        {"generation": {"temperature": 1}},
    ):
        assert server.call("PUT", "/api/settings", bad, status=400)["error"]
    assert (tmp_path / "config.toml").read_text() == WRITTEN


def test_a_former_setting_is_refused_with_what_replaced_it(server: Served, tmp_path: Path) -> None:
    answer = server.call("PUT", "/api/settings", {"weave.budget_share": 0.5}, status=400)
    assert "no longer a setting" in answer["error"]
    assert "weave.budget_tokens" in answer["error"]
    assert (tmp_path / "config.toml").read_text() == WRITTEN


def test_open_windows_go_by_new_settings_at_once(server: Served) -> None:
    window = server.new_window()
    server.call("PUT", "/api/settings", {"weave.budget_tokens": 1000})
    assert server.get(f"/api/windows/{window}")["budget"] == 1000


def test_what_a_window_has_of_its_own_stays(server: Served) -> None:
    window = server.new_window()
    server.call("PATCH", f"/api/windows/{window}", {"overrides": {"weave.budget_tokens": 500}})
    server.call("PUT", "/api/settings", {"weave.budget_tokens": 1000})
    assert server.get(f"/api/windows/{window}")["budget"] == 500


def test_it_is_said_what_needs_a_restart_and_what_is_hidden_by_the_command_line(server: Served) -> None:
    answer = server.call(
        "PUT", "/api/settings", {"memory.chunk_min_tokens": 50, "generation.seed": 8, "generation.top_k": 1}
    )
    assert answer == {"restart": ["memory.chunk_min_tokens"], "overridden": ["generation.seed"], "is_loading": False}


def test_keys_are_never_shown_and_survive_being_sent_back(server: Served, tmp_path: Path) -> None:
    server.call("PUT", "/api/settings", {"embedder.api_key": "very-secret"})
    assert "very-secret" not in server.http.get("/api/settings").text
    shown = listed(server)["embedder.api_key"]
    assert shown["is_secret"]
    server.call("PUT", "/api/settings", {"embedder.api_key": shown["value"]})
    assert tomllib.loads((tmp_path / "config.toml").read_text())["embedder"]["api_key"] == "very-secret"


def test_settings_survive_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        one.call("PUT", "/api/settings", {"generation.temperature": 0.1, "generation.stop": ["x", "y"]})
    with served(tmp_path) as one:
        assert listed(one)["generation.temperature"]["value"] == 0.1
        assert listed(one)["generation.stop"]["value"] == ["x", "y"]


def test_another_engine_is_loaded_at_once_and_tabs_go_on(tmp_path: Path) -> None:
    layers = SettingsLayers({"memory.path": str(tmp_path / "halo.db")}, {}, tmp_path / "config.toml")
    (tmp_path / "config.toml").write_text('[engine]\nkind = "echo"\n')
    program = Program(layers)
    with serving(program) as address:
        one = Served(address, program, None)
        until(lambda: program.keeper.status.state == "ready")
        window = one.new_window()
        one.say(window, "before")
        with one.socket(f"/api/windows/{window}/events") as socket:
            one.call("PUT", "/api/settings", {"engine.context_tokens": 2048})
            until(lambda: one.get("/api/status")["engine"]["usable"] == 2048)
            while '"usable":2048' not in str(socket.recv(timeout=60)):
                pass
        assert one.say(window, "after")["usable"] == 2048
        one.http.close()


@given(
    st.dictionaries(
        st.sampled_from(["generation.temperature", "chat.system_prompt", "weave.show_times", "engine.threads"]),
        st.one_of(st.none(), st.integers(0, 5), st.text(st.characters(codec="utf-8")), st.booleans()),
    )
)
def test_any_change_gives_a_file_that_reads_back(values: dict[str, Any]) -> None:
    read = tomllib.loads(changed(WRITTEN, values))
    for name, value in values.items():
        section, _, field = name.partition(".")
        assert read.get(section, {}).get(field) == value
