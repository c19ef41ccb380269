"""A name and password in a model server's address are used, but shown nowhere."""

import base64
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from halo_weave import cli
from halo_weave.config import load_settings
from halo_weave.engine.factory import open_engine
from halo_weave.engine.kobold_client.client import KoboldEngine
from halo_weave.engine.openai_client.client import OpenAIEngine
from halo_weave.errors import HaloError, SettingError
from halo_weave.memory.embedders.choice import EmbedderChoice
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedders.openai import OpenAIEmbedder
from halo_weave.server.kobold.server import listen
from halo_weave.terminal.commands import embedding
from halo_weave.text.server_address import without_password
from support.servers.loopback_server import Answer, Body, Handler, LoopbackServer
from support.servers.openai_servers import llama_server, says
from support.servers.served import Served, served, until

PASSWORD = "pa55word"


@pytest.fixture
def nobody() -> str:
    """Return the address of a server that does not exist."""
    with listen("127.0.0.1", 0) as listener:
        return f"http://me:{PASSWORD}@127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:5001", "http://127.0.0.1:5001"),
        ("", ""),
        ("http://me:pa55@host:1/v1", "http://(hidden)@host:1/v1"),
        ("https://pa55@host", "https://(hidden)@host"),
        ("http://me:p@55@host", "http://(hidden)@host"),
        ("http://me:pa/55?#@host", "http://(hidden)@host"),
        ("me:pa55@host", "(hidden)@host"),
        ("http://me:pa55@[", "http://(hidden)@["),
    ],
)
def test_what_stands_before_the_host_is_hidden(address: str, shown: str) -> None:
    assert without_password(address) == shown


@pytest.mark.parametrize("connect", [KoboldEngine, OpenAIEngine, OpenAIEmbedder])
def test_an_error_names_the_server_without_the_password(nobody: str, connect: Callable[[str], object]) -> None:
    for address in (nobody, f"ftp://me:{PASSWORD}@host", f"me:{PASSWORD}@host", f"http://me:{PASSWORD}@["):
        with pytest.raises(HaloError) as refused:
            connect(address)
        assert PASSWORD not in str(refused.value)
        assert address.rpartition("@")[2] in str(refused.value)


def test_the_password_is_sent_to_the_server() -> None:
    with LoopbackServer(llama_server(says("Hello"))) as server:
        OpenAIEngine(server.url.replace("http://", f"http://me:{PASSWORD}@") + "/v1/").close()
    expected = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    assert all(headers["Authorization"] == expected for headers in server.headers)


@pytest.mark.parametrize("name", ["engine.url", "embedder.url", "engine.urll", "engine.kind"])
def test_a_setting_that_is_refused_is_quoted_without_the_password(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.toml").write_text(f'{name} = ["http://me:{PASSWORD}@host"]\n')
    with pytest.raises(SettingError) as refused:
        load_settings({}, {}, tmp_path / "config.toml")
    assert PASSWORD not in str(refused.value)
    with pytest.raises(SettingError) as refused:
        load_settings({"engine.kind": f"http://me:{PASSWORD}@host"}, {}, tmp_path / "none.toml")
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("arguments", [["settings"], ["settings", "--json"], ["doctor"], ["doctor", "--json"]])
def test_commands_show_addresses_without_the_password(
    nobody: str, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    chosen = ("engine.kind=openai", f"engine.url={nobody}", "embedder.kind=openai", f"embedder.url={nobody}")
    cli.main([*arguments, *(part for setting in chosen for part in ("--set", setting))])
    printed = "".join(capsys.readouterr())
    assert PASSWORD not in printed
    assert printed.count(f"(hidden)@{nobody.rpartition('@')[2]}") >= 2


def test_the_embedder_to_be_named_is_named_without_the_password() -> None:
    shown = embedding._named(EmbedderSettings(kind="openai", url=f"http://me:{PASSWORD}@host"))
    assert shown == 'embedder.kind = "openai", embedder.url = "http://(hidden)@host"'


def test_the_server_says_and_logs_nothing_of_the_password(
    tmp_path: Path, nobody: str, caplog: pytest.LogCaptureFixture
) -> None:
    overrides = {"engine.kind": "openai", "engine.url": nobody, "embedder.kind": "openai", "embedder.url": nobody}
    with (
        caplog.at_level(logging.DEBUG, "halo_weave"),
        served(tmp_path, overrides=overrides, open_engine=open_engine, waits=False) as one,
    ):
        until(lambda: one.program.keeper.status.state == "away")
        for path in ("/readyz", "/api/status", "/api/settings", "/metrics", "/api/search?words=x", "/api/jobs"):
            assert PASSWORD not in one.http.get(path).text
        shown = {setting["name"]: setting["value"] for setting in one.get("/api/settings")}
        assert shown["engine.url"] == without_password(nobody)
    assert PASSWORD not in caplog.text


@pytest.fixture
def with_password(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "config.toml").write_text(f'[engine]\nurl = "http://me:{PASSWORD}@host"\n')
    with served(tmp_path) as one:
        yield one


def test_an_address_that_comes_back_from_the_page_as_it_was_shown_stays(with_password: Served) -> None:
    one = with_password
    one.call("PUT", "/api/settings", {"engine.url": "http://(hidden)@host", "generation.max_tokens": 9})
    stored = one.program.layers.file.read_text()
    assert f'url = "http://me:{PASSWORD}@host"' in stored
    assert "max_tokens = 9" in stored


def test_another_host_does_not_get_the_hidden_password(with_password: Served) -> None:
    one = with_password
    before = one.program.layers.file.read_text()
    answer = one.call("PUT", "/api/settings", {"engine.url": "http://(hidden)@other"}, status=400)
    assert "enter the complete address" in answer["error"]
    assert one.program.layers.file.read_text() == before


def test_what_is_noted_of_an_embedder_has_no_password(tmp_path: Path) -> None:
    """The file records how an embedder was opened; its password stays in the settings and is applied again."""
    notes = tmp_path / "notes.json"
    with LoopbackServer(_embeddings()) as server:
        address = server.url.replace("http://", f"http://me:{PASSWORD}@")
        settings = EmbedderSettings(kind="openai", url=address, model="first")
        with closing(EmbedderChoice(settings, notes, lambda _: None).named_by_settings()) as embedder:
            name = embedder.name
        assert PASSWORD not in notes.read_text()
        assert name in notes.read_text()
        # The settings now name another model on the same server, with its password.
        changed = msgspec.structs.replace(settings, model="second")
        with closing(EmbedderChoice(changed, notes, lambda _: None).of_vectors(name)) as embedder:
            assert embedder.name == name


def _embeddings() -> dict[str, Handler]:
    def embeddings(body: Body) -> Answer:
        return Answer({"data": [{"index": index, "embedding": [1.0, 2.0]} for index, _ in enumerate(body["input"])]})

    def models(_: Body) -> Answer:
        return Answer({"data": [{"id": "first"}, {"id": "second"}]})

    return {"/v1/embeddings": embeddings, "/v1/models": models}
