"""The command line: its output and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halo_weave import __version__, cli
from halo_weave.config import Settings, describe_settings
from halo_weave.terminal import listing
from halo_weave.terminal.chat import chat

MEMORY_COMMANDS = (
    "stats", "search", "show", "delete", "undelete", "reembed", "backup", "verify", "repair", "damaged", "clear",
    "forget",
)  # fmt: skip
COMMANDS: list[list[str]] = [
    [],
    ["serve"],
    ["chat"],
    ["doctor"],
    ["settings"],
    ["engine"],
    ["engine", "serve"],
    ["bench", "engine"],
    ["export"],
    ["import"],
    ["memory"],
    *(["memory", command] for command in MEMORY_COMMANDS),
    ["bench", "brightness"],
]


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in [name for name in os.environ if name.startswith("HALO_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HALO_HOME", str(tmp_path))


def settings_after(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert cli.main(["settings", "--json", *arguments]) == 0
    return {setting["name"]: setting["value"] for setting in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert cli.main([*command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {' '.join(['halo-weave', *command])} ")


@pytest.mark.parametrize("command", [["engine"], ["bench"], ["memory"]], ids=" ".join)
def test_without_a_command_help_is_shown(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert cli.main(command) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"halo-weave {__version__}\n"


def test_help_loads_neither_numpy_nor_an_engine() -> None:
    program = (
        "import sys; from halo_weave.cli import main; main(['--help']); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'msgspec', 'halo_weave.engine', 'prompt_toolkit')))"
    )
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["dance"], "invalid choice: 'dance'"),
        (["chat", "--dance"], "unrecognized arguments: --dance"),
        (["chat", "--mod", "x"], "unrecognized arguments: --mod x"),
        (["chat", "--set", "generation.temperature"], "'generation.temperature' does not have the form NAME=VALUE"),
        (["chat", "--set", "generation.warmth=1"], "There is no setting generation.warmth"),
        (["chat", "--temperature", "hot"], "generation.temperature from the command line is 'hot'"),
        (["chat", "--seed", "-1"], "generation.seed from the command line is '-1'"),
        (["chat", "--engine", "http://x", "--engine-kind", "smoke"], "engine.kind from the command line is 'smoke'"),
        (["chat", "--engine-kind", "openai"], "engine.url is empty"),
        (["engine", "serve", "--port", "70000"], "'70000' is not a whole number from 0 to 65535"),
        (["bench", "engine", "--repeats", "0"], "'0' is not a whole number from 1 to 1000"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_for_wrongly_is_refused_in_one_sentence_with_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert cli.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("halo-weave: ")
    assert complaint in shown.err
    assert shown.err.count("\n") == 1


def test_a_model_that_is_not_there_is_one_sentence_with_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing.gguf"
    assert cli.main(["chat", "--model", str(missing)]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("halo-weave: ")
    assert str(missing) in shown.err
    assert shown.err.count("\n") == 1


def test_a_broken_config_file_is_one_sentence_with_code_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[engine", encoding="utf-8")
    assert cli.main(["settings"]) == 2
    assert capsys.readouterr().err.startswith(f"halo-weave: The file {tmp_path / 'config.toml'} is not valid TOML: ")


def test_file_environment_and_command_line_are_laid_over_each_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(
        "[generation]\ntemperature = 0.1\ntop_k = 1\nmax_tokens = 1\n", encoding="utf-8"
    )
    monkeypatch.setenv("HALO_GENERATION_TOP_K", "2")
    monkeypatch.setenv("HALO_GENERATION_MAX_TOKENS", "2")
    values = settings_after(capsys, "--set", "generation.max_tokens=3")
    assert values["generation.temperature"] == 0.1
    assert values["generation.top_k"] == 2
    assert values["generation.max_tokens"] == 3


def test_short_flags_set_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    values = settings_after(
        capsys, "--model", "a.gguf", "--context", "1000", "--threads", "3", "--gpu-layers", "7"
    )  # fmt: skip
    assert values["engine.model"] == "a.gguf"
    assert values["engine.context_tokens"] == 1000
    assert values["engine.threads"] == 3
    assert values["engine.gpu_layers"] == 7


def test_flags_of_chat_reach_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Settings, str, str]] = []

    def take(settings: Settings, window_name: str, kind: str) -> int:
        given.append((settings, window_name, kind))
        return 0

    monkeypatch.setattr(chat, "run", take)
    flags = ["--temperature", "0.5", "--seed", "4", "--max-tokens", "9", "--system", "Be brief.", "--db", "a.db"]
    assert cli.main(["chat", *flags]) == 0
    assert cli.main(["chat", "--window", "cats"]) == 0
    assert cli.main(["chat", "--private"]) == 0
    settings = given[0][0]
    assert [(name, kind) for _, name, kind in given] == [
        ("main", "ordinary"),
        ("cats", "ordinary"),
        ("main", "private"),
    ]
    assert settings.memory.path == "a.db"
    generation = settings.generation
    assert (generation.temperature, generation.seed, generation.max_tokens) == (0.5, 4, 9)
    assert settings.chat.system_prompt == "Be brief."


def test_the_last_word_on_the_command_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings_after(capsys, "--threads", "3", "--set", "engine.threads=4")["engine.threads"] == 4
    assert settings_after(capsys, "--set", "engine.threads=4", "--threads", "3")["engine.threads"] == 3


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [([], "kobold"), (["--engine-kind", "openai"], "openai"), (["--set", "engine.kind=openai"], "openai")],
)
def test_an_engine_address_means_kobold_unless_another_kind_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], kind: str
) -> None:
    values = settings_after(capsys, "--engine", "http://127.0.0.1:5001", *arguments)
    assert values["engine.url"] == "http://127.0.0.1:5001"
    assert values["engine.kind"] == kind


def test_settings_lists_every_setting_with_value_default_and_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", "--set", "generation.temperature=0.25"]) == 0
    shown = capsys.readouterr().out
    for setting in describe_settings():
        assert f"{setting.name} = " in shown
        assert f"{setting.help} Must be {setting.allowed}." in shown
    assert "generation.temperature = 0.25  (default: 0.7)" in shown


def test_a_former_setting_is_told_once_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", "--set", "search.candidates=9", "--set", "engine.threads=4"]) == 0
    told = capsys.readouterr()
    assert "engine.threads = 4" in told.out
    assert told.err == (
        "search.candidates from the command line is no longer a setting and is ignored: search chooses the number of "
        "candidates itself now.\n"
    )


def test_settings_hides_keys(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_ENGINE_API_KEY", "secret")
    assert cli.main(["settings"]) == 0
    assert cli.main(["settings", "--json"]) == 0
    assert "secret" not in capsys.readouterr().out


def test_figures_are_one_json_object_or_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"bury_speedup": 123.456, "machine": {"cores": 2}, "repeats": [1, 2]}
    listing.write_figures(figures, as_json=True)
    assert json.loads(capsys.readouterr().out) == figures
    listing.write_figures(figures, as_json=False)
    assert capsys.readouterr().out.splitlines() == ["bury_speedup   123.5", "machine.cores  2", "repeats        1 2"]


def test_a_chat_can_use_an_engine_that_is_served(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "halo_weave"]
    serving = [*command, "engine", "serve", "--port", "0", "--set", "engine.kind=echo"]
    with subprocess.Popen(serving, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+:\d+", server.stderr.readline())
            assert address is not None
            memory = ["--db", str(tmp_path / "halo.db"), "--set", "weave.show_times=false"]
            chatting = [*command, "chat", "--engine", address[0], *memory]
            done = subprocess.run(chatting, input="hello\n", capture_output=True, text=True, timeout=120)
            assert (done.stdout, done.returncode) == ("You said: hello\n", 0)
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=120)
        assert server.returncode in (0, 130)


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "halo_weave", "settings"], stdout=pipe, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 141
    assert done.stderr == ""


def test_ctrl_c_ends_a_command_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(listing, "write_settings", interrupted)
    assert cli.main(["settings"]) == 130
    assert capsys.readouterr().err == ""
