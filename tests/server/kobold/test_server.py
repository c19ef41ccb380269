"""Our engine served over real HTTP on loopback."""

import base64
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import numpy as np
import pytest
import uvicorn

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoContext, EchoEngine
from halo_weave.engine.protocol import AttentionChoice, GenerationSettings, Placed, Step
from halo_weave.errors import SettingError
from halo_weave.records.tokens import Token
from halo_weave.server.kobold.server import listen, serve, serving
from halo_weave.server.kobold.sessions import NoSuchContext, ServerBusy, Sessions

WAIT_S = 60.0


class WatchedEngine(EchoEngine):
    """An echo engine that exposes its contexts, and whose replies can be made to wait for permission."""

    def __init__(self, replies: list[str] | None = None, **settings: Any) -> None:
        super().__init__(replies or [], **settings)
        self.contexts: list[WatchedContext] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.order: list[int] = []
        self.previews: list[int] = []

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> "WatchedContext":  # noqa: B008
        context = WatchedContext(self, attention)
        self.contexts.append(context)
        return context


class WatchedContext(EchoContext):
    def __init__(self, engine: WatchedEngine, attention: AttentionChoice | None) -> None:
        super().__init__(engine, attention, lambda tokens: np.full(len(tokens), 1 / len(tokens), np.float32), 0.0)
        self.watched = engine
        self.steps = 0
        self.is_closed = False
        self.cancellation = Cancellation()
        self.has_begun = threading.Event()
        self.has_ended = threading.Event()

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        self.cancellation = cancellation or Cancellation()
        steps = super().generate(settings, positions, cancellation=cancellation)
        return self._watched_steps(steps)

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        self.watched.previews.append(self.watched.contexts.index(self))
        return super().preview(token_ids, count, cancellation=cancellation)

    def _watched_steps(self, steps: Iterator[Step]) -> Iterator[Step]:
        self.has_ended.clear()
        self.watched.order.append(self.watched.contexts.index(self))
        try:
            for step in steps:
                self.steps += 1
                yield step
                self.has_begun.set()
                if not self.cancellation.is_cancelled:
                    self._wait_for_permission()
        finally:
            self.has_ended.set()

    def _wait_for_permission(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while not self.watched.may_go_on.wait(0.005) and not self.cancellation.is_cancelled:
            assert time.monotonic() < deadline

    def close(self) -> None:
        self.is_closed = True
        super().close()


@contextmanager
def client_of(engine: EchoEngine, **settings: Any) -> Iterator[httpx2.Client]:
    with (
        serving(engine, **settings) as url,
        httpx2.Client(base_url=url, timeout=WAIT_S, trust_env=False) as client,
    ):
        yield client


@pytest.fixture
def engine() -> WatchedEngine:
    return WatchedEngine()


@pytest.fixture
def client(engine: WatchedEngine) -> Iterator[httpx2.Client]:
    with client_of(engine) as connected:
        yield connected


def post(client: httpx2.Client, path: str, **message: Any) -> Any:
    response = client.post(path, json=message)
    assert response.status_code == 200, response.text
    return response.json()


def refusal(client: httpx2.Client, path: str, **message: Any) -> tuple[int, dict[str, Any]]:
    response = client.post(path, json=message)
    return response.status_code, response.json()["detail"]


def stream(client: httpx2.Client, **message: Any) -> list[dict[str, Any]]:
    response = client.post("/api/extra/generate/stream", json=message)
    assert response.status_code == 200, response.text
    events = [block for block in response.text.split("\n\n") if block and not block.startswith(":")]
    assert all(block.startswith("event: message\ndata: ") for block in events)
    return [json.loads(block.split("data: ", 1)[1]) for block in events]


def ids_of(engine: EchoEngine, text: str) -> list[int]:
    return [token.id for token in engine.tokenize(text, special=True)]


def open_context(client: httpx2.Client, ids: list[int]) -> tuple[str, int]:
    context_id = post(client, "/api/extra/context")["context_id"]
    synced = post(client, "/api/extra/context/sync", context_id=context_id, tokens=[["0", ids]])
    return context_id, synced["revision"]


def until(condition: threading.Event) -> None:
    assert condition.wait(WAIT_S)


def test_the_model_is_described_in_the_protocols_fields(client: httpx2.Client, engine: EchoEngine) -> None:
    info = client.get("/api/v1/model").json()
    assert info["result"] == info["model_name"] == "echo"
    assert info["max_context_length"] == engine.facts.usable_context
    assert info["vocab_size"] == engine.facts.vocabulary_size
    assert {"num_layers", "num_attention_heads", "num_key_value_heads", "embedding_size", "max_trained_context"} <= set(
        info
    )
    assert {"bos_token_id", "eos_token_id", "eot_token_id", "rope_freq_base", "rope_freq_scale"} <= set(info)
    assert info["halo_weave"]["protocol"] == 1
    assert info["halo_weave"]["extensions"] == ["context", "preview"]
    assert info["halo_weave"]["abilities"]["editing"]["available"] is True


def test_stock_questions_get_stock_answers(client: httpx2.Client, engine: EchoEngine) -> None:
    assert client.get("/api/v1/info/version").json()["result"]
    assert client.get("/api/extra/version").json()["result"] == "KoboldCpp"
    assert client.get("/api/extra/true_max_context_length").json() == {"value": engine.facts.usable_context}
    ids = ids_of(engine, "Hello")
    assert post(client, "/api/extra/tokencount", prompt="Hello") == {"value": len(ids), "ids": ids}
    assert post(client, "/api/extra/detokenize", ids=ids)["result"] == "Hello"
    assert post(client, "/api/extra/generate/check") == {"results": [{"text": ""}]}
    assert client.post("/api/extra/abort").json() == {"success": "false", "done": "true"}


def test_text_becomes_tokens_and_text_again(client: httpx2.Client, engine: EchoEngine) -> None:
    text = "<|im_start|>Größe 🎉"
    with_signs = post(client, "/api/v1/tokenize", text=text)
    assert with_signs["token_ids"] == ids_of(engine, text)
    assert "".join(token["text"] for token in with_signs["tokens"]) == text
    assert with_signs["token_count"] == len(with_signs["tokens"])
    plain = post(client, "/api/v1/tokenize", text=text, parse_special=False)
    assert plain["token_ids"] == [token.id for token in engine.tokenize(text)]
    assert post(client, "/api/v1/detokenize", token_ids=with_signs["token_ids"]) == {"text": text}


def test_a_reply_at_once_has_the_stock_shape(client: httpx2.Client) -> None:
    assert post(client, "/api/v1/generate", prompt="hi", max_length=50) == {"results": [{"text": "You said: hi"}]}


def test_a_streamed_reply_has_a_row_of_attention_for_every_token(client: httpx2.Client, engine: EchoEngine) -> None:
    prompt = ids_of(engine, "some words to begin with")
    *tokens, done = stream(client, input_ids=prompt, output_attentions=True, request_id="r1", max_length=9)
    for number, event in enumerate(tokens):
        attention = event["attention"]
        row = np.frombuffer(base64.b64decode(attention["data"]), np.float32)
        assert attention["format"] == "aggregated"
        assert attention["shape"] == [len(row)] == [attention["context_length"]] == [len(prompt) + number]
        assert row.sum() == pytest.approx(1, abs=1e-3)
    assert {event["request_id"] for event in [*tokens, done]} == {"r1"}
    assert (done["type"], done["finish_reason"], done["total_tokens"]) == ("done", "length", 9)
    assert done["halo_weave"]["finish_reason"] == "length"


def test_attention_comes_only_if_asked_for_and_by_layer_if_wanted(client: httpx2.Client) -> None:
    assert stream(client, prompt="hi", max_length=1)[0]["attention"] is None
    by_layer = stream(client, prompt="hi", max_length=1, output_attentions=True, attention_format="per_layer")
    assert by_layer[0]["attention"]["format"] == "per_layer"
    assert len(by_layer[0]["attention"]["shape"]) == 3


def test_a_stop_string_ends_a_reply_and_is_told_exactly(client: httpx2.Client) -> None:
    *tokens, done = stream(client, prompt="hi", stop_sequence=["said"])
    assert "".join(event["token"]["text"] for event in tokens) == "You "
    assert (done["finish_reason"], done["halo_weave"]["finish_reason"]) == ("stop", "stop_string")


def test_requests_that_bring_their_tokens_share_a_few_contexts(client: httpx2.Client, engine: WatchedEngine) -> None:
    for number in range(6):
        stream(client, prompt=f"conversation {number % 2} " * 20 + "x" * number, max_length=2)
    assert len(engine.contexts) <= 2


@pytest.mark.parametrize(
    ("path", "message", "status", "words"),
    [
        ("/api/v1/tokenize", {"text": 5}, 400, "text"),
        ("/api/v1/tokenize", {}, 400, "text"),
        ("/api/v1/detokenize", {"token_ids": [-1]}, 400, "no token -1"),
        ("/api/extra/generate/stream", {}, 400, "nothing to continue"),
        ("/api/extra/generate/stream", {"input_ids": [10**9]}, 400, "no token"),
        ("/api/extra/generate/stream", {"prompt": "a", "temperature": 9}, 400, "temperature"),
        ("/api/extra/generate/stream", {"prompt": "a", "max_length": 0}, 400, "max_length"),
        ("/api/extra/generate/stream", {"prompt": "a", "rep_pen": 0}, 400, "rep_pen"),
        ("/api/extra/generate/stream", {"context_id": "none", "revision": 0}, 404, "no context"),
        ("/api/extra/context/sync", {"context_id": "none", "tokens": []}, 404, "no context"),
        ("/api/extra/context", {"attention": {"reduce": "median"}}, 400, "reduce"),
    ],
)
def test_bad_input_gets_one_sentence(
    client: httpx2.Client, path: str, message: dict[str, Any], status: int, words: str
) -> None:
    answered, detail = refusal(client, path, **message)
    assert answered == status
    assert words in detail["msg"]


def test_a_body_that_is_not_json_is_refused(client: httpx2.Client) -> None:
    response = client.post("/api/v1/tokenize", content=b"{not json")
    assert response.status_code == 400
    assert "is not valid" in response.json()["detail"]["msg"]


def test_a_body_that_is_too_large_is_refused(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_weave.server.kobold.exchange.LARGEST_BODY_BYTES", 100)
    status, detail = refusal(client, "/api/v1/tokenize", text="x" * 200)
    assert (status, detail["kind"]) == (413, "input")


def test_a_context_is_edited_by_difference(client: httpx2.Client, engine: WatchedEngine) -> None:
    context_id, revision = open_context(client, [65, 66, 67, 68])
    edited = post(
        client,
        "/api/extra/context/sync",
        context_id=context_id,
        revision=revision,
        edits=[[1, 2, []], [4, 0, [[str(10**25), [70, 71]]]]],
        observe=True,
    )
    assert (edited["kept"], edited["removed"], edited["decoded"]) == (2, 2, 2)
    assert edited["reading"]["read"] == [2, 3]
    assert edited["reading"]["attention"]["shape"] == [2, 4]
    assert engine.contexts[-1].tokens == [Placed(0, 65), Placed(3, 68), Placed(10**25, 70), Placed(10**25 + 1, 71)]


def test_a_clean_sync_reads_everything_again(client: httpx2.Client) -> None:
    context_id, revision = open_context(client, [65, 66])
    cleaned = post(client, "/api/extra/context/sync", context_id=context_id, revision=revision, edits=[], clean=True)
    assert (cleaned["kept"], cleaned["decoded"]) == (0, 2)


def test_a_revision_that_is_not_the_servers_is_refused_and_changes_nothing(
    client: httpx2.Client, engine: WatchedEngine
) -> None:
    context_id, revision = open_context(client, [65, 66])
    status, detail = refusal(
        client, "/api/extra/context/sync", context_id=context_id, revision=revision + 5, edits=[[0, 2, []]]
    )
    assert (status, detail["kind"]) == (409, "revision")
    assert refusal(client, "/api/extra/generate/stream", context_id=context_id, revision=revision + 5)[0] == 409
    assert len(engine.contexts[-1].tokens) == 2


@pytest.mark.parametrize(
    "wanted",
    [
        {"edits": [[0, 9, []]]},
        {"tokens": [["5", [65]], ["4", [65]]]},
        {"tokens": [["-3", [65]]]},
        {"tokens": [["0", [-65]]]},
        {},
    ],
)
def test_a_bad_sync_changes_nothing(client: httpx2.Client, engine: WatchedEngine, wanted: dict[str, Any]) -> None:
    context_id, revision = open_context(client, [65, 66])
    status, _ = refusal(client, "/api/extra/context/sync", context_id=context_id, revision=revision, **wanted)
    assert status == 400
    assert engine.contexts[-1].tokens == [Placed(0, 65), Placed(1, 66)]
    post(client, "/api/extra/context/sync", context_id=context_id, revision=revision, edits=[])


def test_a_context_that_is_too_large_is_refused_with_both_figures() -> None:
    with client_of(EchoEngine(context_tokens=10)) as client:
        context_id, _ = open_context(client, [65])
        status, detail = refusal(client, "/api/extra/context/sync", context_id=context_id, tokens=[["0", [65] * 11]])
        assert (status, detail["wanted_tokens"], detail["usable_tokens"]) == (413, 11, 10)
        status, detail = refusal(client, "/api/extra/generate/stream", input_ids=[65] * 12)
        assert (status, detail["wanted_tokens"]) == (413, 12)


def test_after_a_generation_both_sides_know_what_the_context_holds(
    client: httpx2.Client, engine: WatchedEngine
) -> None:
    context_id, revision = open_context(client, [65])
    *_, done = stream(client, context_id=context_id, revision=revision, first_position="100", max_length=4)
    extras = done["halo_weave"]
    assert extras["revision"] > revision
    held = engine.contexts[-1].tokens
    [[index, removed, [[position, ids]]]] = extras["edits"]
    assert (index, removed, position) == (1, 0, "100")
    assert [token.token_id for token in held[1:]] == ids
    post(client, "/api/extra/context/sync", context_id=context_id, revision=extras["revision"], edits=[])


def test_a_first_position_inside_the_context_is_refused(client: httpx2.Client) -> None:
    context_id, revision = open_context(client, [65, 66])
    [error] = stream(client, context_id=context_id, revision=revision, first_position="1")
    assert (error["type"], error["status"], error["detail"]["kind"]) == ("error", 400, "input")


def test_a_preview_leaves_the_context_as_it_was(client: httpx2.Client, engine: WatchedEngine) -> None:
    context_id, revision = open_context(client, [65])
    preview = post(client, "/api/extra/preview", context_id=context_id, revision=revision, input_ids=[66], count=3)
    assert len(preview["tokens"]) == 3
    assert engine.contexts[-1].tokens == [Placed(0, 65)]
    message = {"context_id": context_id, "revision": revision, "input_ids": [], "count": 0}
    assert refusal(client, "/api/extra/preview", **message)[0] == 400


def test_the_context_idle_for_the_longest_time_gives_way() -> None:
    engine = WatchedEngine()
    with client_of(engine, most_contexts=2) as client:
        first, _ = open_context(client, [65])
        second, _ = open_context(client, [65])
        post(client, "/api/extra/context/sync", context_id=first, tokens=[])
        open_context(client, [65])
        assert [context.is_closed for context in engine.contexts] == [False, True, False]
        assert refusal(client, "/api/extra/context/sync", context_id=second, tokens=[])[0] == 404


def test_a_context_in_use_does_not_give_way() -> None:
    sessions = Sessions(EchoEngine(), most_open=1)
    session = sessions.add(None)
    session.requests = 1
    with pytest.raises(ServerBusy, match="All 1 contexts"):
        sessions.add(None)
    assert sessions.find(session.context_id) is session
    session.requests = 0
    sessions.add(None)
    with pytest.raises(NoSuchContext):
        sessions.find(session.context_id)


def test_a_closed_context_is_gone(client: httpx2.Client, engine: WatchedEngine) -> None:
    context_id, _ = open_context(client, [65])
    post(client, "/api/extra/context/close", context_id=context_id)
    assert engine.contexts[-1].is_closed
    assert refusal(client, "/api/extra/context/close", context_id=context_id)[0] == 404


def test_a_client_that_goes_away_stops_its_generation(client: httpx2.Client, engine: WatchedEngine) -> None:
    engine.may_go_on.clear()
    address = urlsplit(str(client.base_url))
    body = json.dumps({"prompt": "a long question " * 10, "max_length": 100}).encode()
    with socket.create_connection((address.hostname, address.port), WAIT_S) as connection:
        connection.sendall(
            b"POST /api/extra/generate/stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        until_begun(engine)
    until(engine.contexts[0].has_ended)
    assert engine.contexts[0].cancellation.is_cancelled
    assert engine.contexts[0].steps < 5
    engine.may_go_on.set()
    assert post(client, "/api/v1/generate", prompt="hi")["results"][0]["text"] == "You said: hi"


def until_begun(engine: WatchedEngine) -> None:
    deadline = time.monotonic() + WAIT_S
    while not (engine.contexts and engine.contexts[-1].has_begun.is_set()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_client_that_goes_away_gives_up_its_place_in_the_queue(client: httpx2.Client, engine: WatchedEngine) -> None:
    contexts = [open_context(client, [65]) for _ in range(3)]
    engine.may_go_on.clear()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(stream, client, context_id=contexts[0][0], revision=contexts[0][1], max_length=3)
        until(engine.contexts[0].has_begun)
        with client.stream(
            "POST",
            "/api/extra/generate/stream",
            json={"context_id": contexts[1][0], "revision": contexts[1][1], "max_length": 3},
        ):
            until_waiting(client, 1)
        until_waiting(client, 0)
        third = threads.submit(stream, client, context_id=contexts[2][0], revision=contexts[2][1], max_length=3)
        until_waiting(client, 1)
        engine.may_go_on.set()
        assert first.result(WAIT_S)[-1]["type"] == third.result(WAIT_S)[-1]["type"] == "done"
    assert engine.order == [0, 2]


def test_clients_take_turns(client: httpx2.Client, engine: WatchedEngine) -> None:
    (busy, busy_revision), (other, other_revision), (blocker, blocker_revision) = (
        open_context(client, [65]) for _ in range(3)
    )
    engine.may_go_on.clear()
    with ThreadPoolExecutor(4) as threads:
        threads.submit(stream, client, context_id=blocker, revision=blocker_revision, max_length=3)
        until(engine.contexts[2].has_begun)
        asked = [(busy, busy_revision), (busy, busy_revision), (other, other_revision)]
        for number, (context_id, revision) in enumerate(asked, 1):
            message = {"context_id": context_id, "revision": revision, "input_ids": [], "count": 1}
            threads.submit(post, client, "/api/extra/preview", **message)
            until_waiting(client, number)
        engine.may_go_on.set()
    assert engine.previews == [0, 1, 0]


def until_waiting(client: httpx2.Client, count: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while client.get("/api/extra/perf").json()["queue"] != count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_abort_by_request_id_ends_a_generation(client: httpx2.Client, engine: WatchedEngine) -> None:
    engine.may_go_on.clear()
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(stream, client, prompt="a long question " * 9, request_id="mine")
        until_begun(engine)
        assert post(client, "/api/extra/generate/check", request_id="mine")["results"][0]["text"]
        assert post(client, "/api/extra/abort", request_id="mine")["success"] == "true"
        done = reply.result(WAIT_S)[-1]
    assert (done["type"], done["finish_reason"]) == ("done", "stop")
    assert done["halo_weave"]["finish_reason"] == "stopped"


def test_an_abort_reaches_a_request_that_still_waits(client: httpx2.Client, engine: WatchedEngine) -> None:
    contexts = [open_context(client, [65]) for _ in range(2)]
    engine.may_go_on.clear()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(stream, client, context_id=contexts[0][0], revision=contexts[0][1], max_length=3)
        until(engine.contexts[0].has_begun)
        post(client, "/api/extra/abort", request_id="early")
        second = stream(client, context_id=contexts[1][0], revision=contexts[1][1], request_id="early")
        assert [event["type"] for event in second] == ["done"]
        assert second[0]["halo_weave"]["finish_reason"] == "stopped"
        engine.may_go_on.set()
        assert first.result(WAIT_S)[-1]["halo_weave"]["finish_reason"] == "length"
    assert engine.order == [0]


def test_tokens_are_counted_while_another_client_generates(client: httpx2.Client, engine: WatchedEngine) -> None:
    engine.may_go_on.clear()
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(stream, client, prompt="hi")
        until_begun(engine)
        assert post(client, "/api/v1/tokenize", text="abc")["token_count"] == 1
        engine.may_go_on.set()
        assert reply.result(WAIT_S)[-1]["type"] == "done"


def test_an_engine_that_fails_is_named_and_the_next_request_works(
    client: httpx2.Client, engine: WatchedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_reply", lambda _: 1 / 0)
        [error] = stream(client, prompt="hi")
        assert (error["type"], error["status"]) == ("error", 500)
        assert "ZeroDivisionError" in error["detail"]["msg"]
        assert client.post("/api/v1/generate", json={"prompt": "hi"}).status_code == 500
    assert post(client, "/api/v1/generate", prompt="hi")["results"][0]["text"] == "You said: hi"


def test_pages_of_this_machine_may_ask_and_others_may_not(client: httpx2.Client) -> None:
    local = client.get("/api/v1/model", headers={"origin": "http://localhost:8000"})
    assert local.headers["access-control-allow-origin"] == "http://localhost:8000"
    foreign = client.get("/api/v1/model", headers={"origin": "https://example.org"})
    assert "access-control-allow-origin" not in foreign.headers


def test_a_port_in_use_is_named() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(SettingError, match=f"port {taken.getsockname()[1]}"):
        serve(EchoEngine(), "127.0.0.1", taken.getsockname()[1])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
def test_the_command_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "halo_weave", "engine", "serve", "--port", "0", "--set", "engine.kind=echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.match(r"Serving echo at (http://127\.0\.0\.1:\d+) ", process.stderr.readline())
            assert found
            with httpx2.Client(base_url=found[1], timeout=WAIT_S, trust_env=False) as client:
                assert post(client, "/api/v1/generate", prompt="hi")["results"][0]["text"] == "You said: hi"
                process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    assert process.returncode in (0, 130)
    assert said == ("", "")


@pytest.mark.parametrize(("host", "warns"), [("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)])
def test_serving_to_other_machines_warns(
    host: str, warns: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    serve(EchoEngine(), host, 0)
    said = capsys.readouterr().err
    assert "Serving echo at http://" in said
    assert ("no password" in said) is warns
