"""An engine that loads late, disappears or returns: the program stays open, and nothing is lost."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoContext, EchoEngine
from halo_weave.engine.factory import open_engine, require_usable
from halo_weave.engine.protocol import AttentionChoice, Engine, GenerationSettings, Step
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable, WindowBusy
from support.servers.served import PATIENCE_S, served, until


class Line:
    """A connection to a model server that a test can cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self.context_tokens = 4096

    def open(self, _: EngineSettings) -> Engine:
        self.require()
        return FarEngine(self)

    def require(self) -> None:
        if self.is_cut:
            raise EngineUnavailable("The model server cannot be reached.")


class FarEngine(EchoEngine):
    def __init__(self, line: Line) -> None:
        super().__init__(context_tokens=line.context_tokens)
        self._line = line

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> "FarContext":  # noqa: B008
        return FarContext(self, self._line, attention)


class FarContext(EchoContext):
    def __init__(self, engine: EchoEngine, line: Line, attention: AttentionChoice | None) -> None:
        super().__init__(engine, attention, lambda tokens: [1 / len(tokens)] * len(tokens), 0.0)  # type: ignore[arg-type,return-value]
        self._line = line

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        for number, step in enumerate(super().generate(settings, positions, cancellation=cancellation)):
            if number == 3:
                self._line.require()
            yield step


SERVER = {"engine.kind": "kobold", "engine.url": "http://127.0.0.1:1"}


def test_an_engine_that_goes_away_in_mid_reply_comes_back_by_itself(tmp_path: Path) -> None:
    """The partial reply is kept and can be continued."""
    line = Line()
    with served(tmp_path, open_engine=line.open, overrides=SERVER) as one:
        window = one.new_window()
        line.is_cut = True
        state = one.say(window, "Hello")
        assert state["chunks"][-1]["marks"]["ending"] == "failed"
        assert one.get("/api/status")["engine"]["state"] == "away"
        refused = one.post(f"/api/windows/{window}/messages", {"text": "are you there?"}, status=503)
        assert "cannot be reached" in refused["error"]
        line.is_cut = False
        until(lambda: one.get("/api/status")["engine"]["state"] == "ready")
        one.post(f"/api/windows/{window}/continue", status=202)
        state = one.settled(window)
        assert [chunk["key"]["turn"] for chunk in state["chunks"]][:2] == ["1", "2"]
        assert one.say(window, "Still here")["messages"] == 2


def test_an_engine_that_is_not_there_at_the_start_is_waited_for(tmp_path: Path) -> None:
    line = Line()
    line.is_cut = True
    with served(tmp_path, open_engine=line.open, overrides=SERVER, waits=False) as one:
        until(lambda: one.get("/api/status")["engine"]["state"] == "away")
        assert "cannot be reached" in one.get("/api/status")["engine"]["text"]
        line.is_cut = False
        until(lambda: one.get("/api/status")["engine"]["state"] == "ready")
        assert one.say(one.new_window(), "Hello")["chunks"]


def test_a_server_that_comes_back_with_another_model_is_used_as_it_is(tmp_path: Path) -> None:
    line = Line()
    with served(tmp_path, open_engine=line.open, overrides=SERVER) as one:
        window = one.new_window()
        line.is_cut = True
        one.say(window, "Hello")
        line.is_cut, line.context_tokens = False, 2048
        until(lambda: one.get("/api/status")["engine"]["state"] == "ready")
        assert one.get(f"/api/windows/{window}")["usable"] == 2048
        assert one.say(window, "Hello again")["messages"] == 2


def test_a_model_that_cannot_be_loaded_is_told_and_the_rest_works(tmp_path: Path) -> None:
    overrides = {"engine.model": str(tmp_path / "missing.gguf")}
    with served(tmp_path, open_engine=open_engine, overrides=overrides, waits=False) as one:
        until(lambda: one.get("/api/status")["engine"]["state"] == "away")
        assert "missing.gguf" in one.get("/api/status")["engine"]["text"]
        assert one.get("/api/search?q=anything") == []
        one.post("/api/windows", {"name": "x"}, status=503)


class ModelFiles:
    """Opens models whose files exist, each with its own context size; counts how often each was closed."""

    def __init__(self) -> None:
        self.engines: list[ClosedEngine] = []

    def open(self, settings: EngineSettings) -> Engine:
        if settings.model and not Path(settings.model).exists():
            raise EngineUnavailable(f"There is no model file {settings.model}.")
        self.engines.append(ClosedEngine(context_tokens=1024 + len(self.engines)))
        return self.engines[-1]


class ClosedEngine(EchoEngine):
    closings = 0

    def close(self) -> None:
        self.closings += 1


def test_a_model_that_cannot_be_loaded_leaves_the_one_before_in_use_and_says_why(tmp_path: Path) -> None:
    models, missing = ModelFiles(), tmp_path / "missing.gguf"
    with served(tmp_path, open_engine=models.open) as one:
        window = one.new_window()
        before = one.get("/api/status")["engine"]
        answer = one.call("PUT", "/api/settings", {"engine.model": str(missing)})
        assert answer["is_loading"]
        until(lambda: not one.get("/api/status")["engine"]["is_loading"])
        failure = f"The model could not be loaded: There is no model file {missing}."
        assert one.get("/api/status")["engine"] == {**before, "failure": failure}
        assert one.http.get("/readyz").status_code == 200
        assert one.say(window, "Hello")["messages"] == 1
        assert models.engines[0].closings == 0
    assert [engine.closings for engine in models.engines] == [1]


@pytest.mark.parametrize("content", [None, b"", b"GGML rather than GGUF"])
def test_a_model_that_is_no_model_is_refused_before_anything_changes(tmp_path: Path, content: bytes | None) -> None:
    models, file = ModelFiles(), tmp_path / "no.gguf"
    if content is not None:
        file.write_bytes(content)
    (tmp_path / "config.toml").write_text("[generation]\nseed = 5\n", encoding="utf-8")
    with served(tmp_path, open_engine=models.open, require_usable=require_usable) as one:
        before = one.get("/api/status")["engine"]
        refused = one.call("PUT", "/api/settings", {"engine.model": str(file)}, status=400)
        assert refused["error"].startswith(f"engine.model was not changed: The model {file} ")
        assert one.get("/api/status")["engine"] == before
        one.call("PUT", "/api/settings", {"engine.kind": "openai"}, status=400)
        assert one.program.settings.engine.model == ""
    assert (tmp_path / "config.toml").read_text(encoding="utf-8") == "[generation]\nseed = 5\n"


@pytest.mark.parametrize("has_model", [True, False])
def test_a_model_that_cannot_be_loaded_is_tried_again_when_settings_change(tmp_path: Path, has_model: bool) -> None:
    """Another model, or the same one once it exists, with or without a model before."""
    models, missing = ModelFiles(), tmp_path / "missing.gguf"
    if not has_model:
        (tmp_path / "config.toml").write_text(f"[engine]\nmodel = '{missing}'\n")
    with served(tmp_path, open_engine=models.open, waits=has_model) as one:
        for change in ({"engine.model": None}, {"engine.model": str(missing)}):
            missing.unlink(missing_ok=True)
            one.call("PUT", "/api/settings", {"engine.model": str(missing)})
            until(lambda: one.get("/api/status")["engine"]["failure"])
            missing.touch()
            one.call("PUT", "/api/settings", change)
            until(lambda: one.program.keeper.settings == one.program.settings.engine)
            status = one.get("/api/status")["engine"]
            assert (status["state"], status["failure"]) == ("ready", "")
            one.call("PUT", "/api/settings", {"engine.model": None})
            until(lambda: one.program.keeper.settings == one.program.settings.engine)
    assert [engine.closings for engine in models.engines] == [1] * len(models.engines)


def test_without_any_model_it_is_said_why_there_is_none(tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    with served(tmp_path, open_engine=ModelFiles().open, overrides={"engine.model": str(missing)}, waits=False) as one:
        until(lambda: one.get("/api/status")["engine"]["state"] == "away")
        assert one.get("/api/status")["engine"]["text"] == f"There is no model file {missing}."
        refused = one.post("/api/windows", {"name": "x"}, status=503)
        assert refused["error"] == f"The model could not be loaded: There is no model file {missing}."


def test_a_window_can_be_used_while_another_model_loads(tmp_path: Path) -> None:
    is_loaded = threading.Event()

    def slow(settings: EngineSettings) -> Engine:
        assert not settings.model or is_loaded.wait(PATIENCE_S)
        return EchoEngine(context_tokens=2048 if settings.model else 4096)

    with served(tmp_path, open_engine=slow) as one:
        window = one.new_window()
        one.call("PUT", "/api/settings", {"engine.model": "slow.gguf"})
        status = one.get("/api/status")["engine"]
        assert (status["state"], status["is_loading"], status["failure"]) == ("ready", True, "")
        assert one.say(window, "Hello")["usable"] == 4096
        is_loaded.set()
        until(lambda: one.get(f"/api/windows/{window}")["usable"] == 2048)
        assert one.say(window, "Hello again")["messages"] == 2


def test_of_two_models_asked_for_in_quick_succession_the_second_serves(tmp_path: Path) -> None:
    """The first takes over while the second opens; each engine is closed once."""
    engines: list[ClosedEngine] = []
    is_asked = threading.Event()

    def open_counted(settings: EngineSettings) -> Engine:
        if settings.context_tokens == 2048:
            assert is_asked.wait(PATIENCE_S)
        engines.append(ClosedEngine(["word " * 400], context_tokens=settings.context_tokens, step_seconds=0.01))
        return engines[-1]

    with served(tmp_path, open_engine=open_counted) as one:
        window = one.new_window()
        one.post(f"/api/windows/{window}/messages", {"text": "Hello"}, status=202)
        until(lambda: one.program.window(window).writing)
        one.call("PUT", "/api/settings", {"engine.context_tokens": 2048})
        one.call("PUT", "/api/settings", {"engine.context_tokens": 1024})
        is_asked.set()
        until(lambda: len(engines) == 3 and not one.get("/api/status")["engine"]["is_loading"])
        assert one.get("/api/status")["engine"]["usable"] == 1024
        until(lambda: [engine.closings for engine in engines].count(1) == 2)
        assert one.get(f"/api/windows/{window}")["usable"] == 1024
    assert [engine.closings for engine in engines] == [1, 1, 1]


def test_what_is_sent_to_a_window_of_the_model_before_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        window = one.program.window(one.new_window())
        one.call("PUT", "/api/settings", {"engine.context_tokens": 2048})
        until(lambda: window not in one.program.open_windows())
        with pytest.raises(WindowBusy, match="send the message again"):
            one.program.send(window, lambda _: pytest.fail("It was done."))
        assert one.program.feed(window).is_replaced


def test_the_bundled_model_speaks(tmp_path: Path, llama_engine: Engine) -> None:
    """With a real model's attention, brightness is reported and varies."""

    class Borrowed:
        """Leaves the engine open for the other tests."""

        def __getattr__(self, name: str) -> object:
            return getattr(llama_engine, name)

        def close(self) -> None:
            pass

    overrides = {"generation.max_tokens": "24", "generation.seed": "1"}
    with served(tmp_path, open_engine=lambda _: Borrowed(), overrides=overrides) as one:  # type: ignore[arg-type,return-value]
        window = one.new_window()
        one.say(window, "The capital of Portugal is Lisbon. Say hello.")
        state = one.say(window, "What is the capital of Portugal?")
        assert state["stats"]["generated"] > 0
        assert len(set(state["chunks"][0]["brightness"])) > 1


def test_nobody_waits_for_an_engine_when_the_program_ends(tmp_path: Path) -> None:
    line = Line()
    line.is_cut = True
    with served(tmp_path, open_engine=line.open, overrides=SERVER, waits=False):
        pass
