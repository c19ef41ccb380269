"""The Kobold client against many servers: our own, one with attention, a stock one, and ones that misbehave."""

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx2
import numpy as np
import pytest

from halo_weave.engine import AttentionChoice, Cancellation, GenerationSettings, Placed, Step
from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_client import KoboldContext, KoboldEngine, Timeouts
from halo_weave.errors import (
    ContextTooLarge,
    EngineProtocolError,
    EngineStopped,
    EngineUnavailable,
    InputError,
)
from halo_weave.server.kobold.server import serving
from support.servers.loopback_server import Answer, Handler, LoopbackServer

WAIT_S = 60.0
Message = dict[str, Any]
STREAM = "/api/extra/generate/stream"
PROMPT = [Placed(index, 97 + index) for index in range(3)]


class FakeServer(LoopbackServer):
    """A Kobold server with the given `answers` by path; each test decides what it streams."""

    def __init__(self, answers: dict[str, Callable[[Message], Any]]) -> None:
        super().__init__({path: answering(answer) for path, answer in answers.items()})
        self.streams(done())

    def streams(self, *pieces: bytes) -> None:
        self.handlers[STREAM] = lambda _: Answer(iter(pieces))


def answering(answer: Callable[[Message], Any]) -> Handler:
    return lambda message: Answer(answer(message))


def event(content: Any) -> bytes:
    data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
    return b"event: message\ndata: " + data + b"\n\n"


def row(values: Any, **changes: Any) -> Message:
    array = np.array(values, dtype=np.float32)
    return {
        "format": "aggregated" if array.ndim == 1 else "per_layer",
        "shape": list(array.shape),
        "context_length": array.shape[-1],
        "encoding": "base64",
        "dtype": "float32",
        "data": base64.b64encode(array.tobytes()).decode(),
        **changes,
    }


def even(tokens: int) -> Message:
    return row(np.full(tokens, 1 / tokens))


def token(text: str, attention: Any = None, token_id: int | None = None) -> bytes:
    return event(
        {
            "type": "token",
            "token": {"token_id": ord(text[0]) if token_id is None else token_id, "text": text},
            "request_id": "x",
            "attention": attention,
        }
    )


def done(reason: str = "stop") -> bytes:
    return event({"type": "done", "finish_reason": reason, "total_tokens": 1})


def one_token_per_character(message: Message) -> Message:
    tokens = [{"token_id": ord(character), "text": character} for character in message["text"]]
    return {"tokens": tokens, "token_ids": [token["token_id"] for token in tokens], "token_count": len(tokens)}


def attentive_answers() -> dict[str, Callable[[Message], Any]]:
    """A modified KoboldCPP with attention but without an editable context."""
    info = {
        "result": "koboldcpp/seed",
        "model_name": "seed",
        "vocab_size": 1000,
        "num_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "embedding_size": 16,
        "max_context_length": 64,
        "max_trained_context": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "eot_token_id": -1,
        "rope_freq_base": 10000.0,
        "rope_freq_scale": 1.0,
    }
    return {
        "/api/v1/model": lambda _: info,
        "/api/v1/tokenize": one_token_per_character,
        "/api/v1/detokenize": lambda message: {"text": "".join(map(chr, message["token_ids"]))},
        "/api/extra/abort": lambda _: {"success": "true", "done": "true"},
    }


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(attentive_answers()) as fake:
        yield fake


@pytest.fixture
def engine(server: FakeServer) -> Iterator[KoboldEngine]:
    with closing(KoboldEngine(server.url)) as connected:
        yield connected


@pytest.fixture
def context(engine: KoboldEngine) -> KoboldContext:
    opened = engine.open_context()
    opened.sync(PROMPT)
    return opened


def reply(context: KoboldContext, cancellation: Cancellation | None = None, **settings: Any) -> list[Step]:
    return list(context.generate(GenerationSettings(**settings), cancellation=cancellation))


def text_of(steps: list[Step]) -> str:
    return "".join(step.text for step in steps)


def test_a_server_with_attention_is_met_as_what_it_is(server: FakeServer, engine: KoboldEngine) -> None:
    assert engine.dialect == "attentive"
    assert (engine.facts.name, engine.facts.layers, engine.facts.usable_context) == ("seed", 2, 64)
    assert engine.facts.trained_context == 128
    assert (engine.facts.special_tokens.eos, engine.facts.special_tokens.end_of_turn) == (2, None)
    assert engine.facts.abilities.attention.available
    assert "whole context" in engine.facts.abilities.editing.why_not
    assert [token.text for token in engine.tokenize("añb")] == ["a", "ñ", "b"]
    assert server.bodies("/api/v1/tokenize")[-1] == {
        "text": "añb",
        "add_special_tokens": False,
        "parse_special": False,
    }
    assert engine.detokenize([97, 98]) == "ab"


def test_the_whole_context_travels_and_attention_comes_back(
    server: FakeServer, engine: KoboldEngine, context: KoboldContext
) -> None:
    server.streams(token("x", even(3)), token("y", even(4)), done())
    steps = reply(context, temperature=0, seed=7, stop=("END",), repeat_penalty=1.2)
    assert [step.attention is not None and len(step.attention) for step in steps] == [3, 4, False]
    assert (text_of(steps), steps[-1].finish_reason) == ("xy", "end")
    assert not engine.skipped_attention
    [sent] = server.bodies(STREAM)
    assert sent["input_ids"] == [97, 98, 99]
    assert (sent["top_k"], sent["sampler_seed"], sent["stop_sequence"], sent["rep_pen"]) == (1, 7, ["END"], 1.2)
    assert context.tokens[3:] == [Placed(3, ord("x")), Placed(4, ord("y"))]
    server.streams(done())
    reply(context)
    assert server.bodies(STREAM)[-1]["input_ids"] == [97, 98, 99, ord("x"), ord("y")]


@pytest.mark.parametrize(
    ("attention", "reason"),
    [
        (None, "missing"),
        ("what?", "malformed"),
        (row([0.5, 0.5]), "length"),
        (row([float("nan"), 0.5, 0.5]), "not_finite"),
        (row([float("inf"), 0.5, 0.5]), "not_finite"),
        (row([-1.0, 1.0, 1.0]), "negative"),
        (row([12.0, 3.0, 4.0]), "unnormalised"),
        (row([0.2, 0.3, 0.5], data="%%%"), "base64"),
        (row([0.2, 0.3, 0.5], dtype="float64"), "dtype"),
        (row([0.2, 0.3, 0.5], encoding="hex"), "encoding"),
        (row([0.2, 0.3, 0.5], shape=[7]), "shape"),
    ],
)
def test_bad_attention_is_skipped_and_counted_and_the_token_counts(
    server: FakeServer, engine: KoboldEngine, context: KoboldContext, attention: Any, reason: str
) -> None:
    server.streams(token("x", attention), token("y", even(4)), done())
    steps = reply(context)
    assert text_of(steps) == "xy"
    assert steps[0].attention is None
    assert steps[1].attention is not None
    assert engine.skipped_attention == {reason: 1}


def test_attention_by_layer_is_reduced_as_chosen(server: FakeServer, engine: KoboldEngine) -> None:
    rows = np.zeros((2, 2, 3))
    rows[0] = (1, 0, 0)
    rows[1] = (0, 0.5, 0.5)
    context = engine.open_context(attention=AttentionChoice(layers=(1,)))
    context.sync(PROMPT)
    server.streams(token("x", row(rows)), done())
    [step, _] = reply(context)
    np.testing.assert_array_equal(step.attention, [0, 0.5, 0.5])
    assert server.bodies(STREAM)[-1]["attention_format"] == "per_layer"


def test_events_that_cannot_be_read_are_skipped_and_counted(
    server: FakeServer, engine: KoboldEngine, context: KoboldContext
) -> None:
    server.streams(
        token("x", even(3)),
        event(b"{bad json"),
        event({"type": "weather", "sun": True}),
        event({"type": "token", "token": {"text": "no id"}}),
        token("y", even(4)),
        done(),
    )
    assert text_of(reply(context)) == "xy"
    assert engine.skipped_events == {"bad_json": 1, "unknown_type": 1, "malformed": 1}


def test_events_may_be_split_inside_a_character(server: FakeServer, context: KoboldContext) -> None:
    stream = token("é", even(3)) + token("🎉", even(4)) + done()
    server.streams(*(stream[index : index + 1] for index in range(len(stream))))
    assert text_of(reply(context)) == "é🎉"


def test_half_an_event_at_the_end_is_counted_and_the_reply_is_stopped(
    server: FakeServer, engine: KoboldEngine, context: KoboldContext
) -> None:
    server.streams(token("x", even(3)), token("y", even(4))[:30])
    steps = reply(context)
    assert (text_of(steps), steps[-1].finish_reason) == ("x", "stopped")
    assert engine.skipped_events == {"half_event": 1}


def test_a_stream_that_dies_keeps_what_came_and_the_next_reply_works(
    server: FakeServer, context: KoboldContext
) -> None:
    def die() -> Iterator[bytes]:
        yield token("x", even(3))
        raise ConnectionError

    server.handlers[STREAM] = lambda _: Answer(die())
    steps = context.generate(GenerationSettings())
    assert next(steps).text == "x"
    with pytest.raises(EngineUnavailable, match=re.escape(server.url)):
        next(steps)
    assert context.tokens == [*PROMPT, Placed(3, ord("x"))]
    server.streams(token("y", even(4)), done())
    assert text_of(reply(context)) == "y"


def test_a_server_that_falls_silent_is_given_up(server: FakeServer) -> None:
    def hang() -> Iterator[bytes]:
        yield token("x", even(3))
        server.released.wait(WAIT_S)

    with closing(KoboldEngine(server.url, timeouts=Timeouts(between_tokens_s=0.2))) as engine:
        server.handlers[STREAM] = lambda _: Answer(hang())
        context = engine.open_context()
        context.sync(PROMPT)
        steps = context.generate(GenerationSettings())
        assert next(steps).text == "x"
        with pytest.raises(EngineUnavailable, match=r"sent nothing for 0\.2 s"):
            next(steps)
        server.streams(token("y", even(4)), done())
        assert text_of(reply(context)) == "y"


def test_a_slow_tokenizer_is_given_up(server: FakeServer) -> None:
    with closing(KoboldEngine(server.url, timeouts=Timeouts(tokenize_s=0.2))) as engine:
        server.handlers["/api/v1/tokenize"] = lambda _: Answer(server.released.wait(WAIT_S))
        with pytest.raises(EngineUnavailable, match=re.escape(server.url)):
            engine.tokenize("hello")
        server.handlers["/api/v1/tokenize"] = answering(one_token_per_character)
        assert engine.tokenize("hi")


def test_stop_from_another_thread_wakes_a_waiting_reader(server: FakeServer, context: KoboldContext) -> None:
    has_begun, cancellation = threading.Event(), Cancellation()

    def hang() -> Iterator[bytes]:
        yield token("x", even(3))
        has_begun.set()
        server.released.wait(WAIT_S)

    def stop() -> None:
        assert has_begun.wait(WAIT_S)
        cancellation.cancel()

    server.handlers[STREAM] = lambda _: Answer(hang())
    stopper = threading.Thread(target=stop)
    stopper.start()
    steps = reply(context, cancellation)
    stopper.join()
    assert steps[-1].finish_reason == "stopped"
    [sent] = server.bodies(STREAM)
    assert server.bodies("/api/extra/abort")[0]["genkey"] == sent["genkey"]


def test_a_stop_ends_a_request_that_the_server_has_not_begun_to_answer(
    server: FakeServer, context: KoboldContext
) -> None:
    arrived, cancellation = threading.Event(), Cancellation()

    def never(_: Message) -> Answer:
        arrived.set()
        server.released.wait(WAIT_S)
        return Answer({})

    def stop() -> None:
        assert arrived.wait(WAIT_S)
        cancellation.cancel()

    server.handlers[STREAM] = never
    stopper = threading.Thread(target=stop)
    stopper.start()
    assert reply(context, cancellation) == [Step(None, "", None, "stopped")]
    stopper.join()
    assert not server.released.is_set()


def test_what_is_cancelled_before_it_begins_never_reaches_the_server(
    server: FakeServer, context: KoboldContext
) -> None:
    cancellation, before = Cancellation(), len(server.requests)
    cancellation.cancel()
    assert reply(context, cancellation) == [Step(None, "", None, "stopped")]
    with pytest.raises(EngineStopped):
        context.sync(PROMPT, cancellation=cancellation)
    with pytest.raises(EngineStopped):
        context.preview([100], 2, cancellation=cancellation)
    assert len(server.requests) == before
    server.streams(token("x", even(3)), done())
    assert text_of(reply(context)) == "x"


def test_closing_a_context_ends_its_reply(server: FakeServer, context: KoboldContext) -> None:
    has_begun = threading.Event()

    def hang() -> Iterator[bytes]:
        yield token("x", even(3))
        has_begun.set()
        server.released.wait(WAIT_S)

    def close() -> None:
        assert has_begun.wait(WAIT_S)
        context.close()

    server.handlers[STREAM] = lambda _: Answer(hang())
    closer = threading.Thread(target=close)
    closer.start()
    assert reply(context)[-1].finish_reason == "stopped"
    closer.join()
    assert not server.released.is_set()


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_refusal_names_status_and_message_and_the_next_reply_works(
    server: FakeServer, context: KoboldContext, status: int
) -> None:
    server.handlers[STREAM] = lambda _: Answer({"detail": {"msg": "Server is busy", "type": "x"}}, status)
    with pytest.raises(EngineProtocolError, match=f"{re.escape(server.url)} answered {status}: Server is busy"):
        reply(context)
    assert context.tokens == PROMPT
    server.streams(token("x", even(3)), done())
    assert text_of(reply(context)) == "x"


def test_a_refusal_that_is_not_json_is_quoted(server: FakeServer, context: KoboldContext) -> None:
    server.handlers[STREAM] = lambda _: Answer(b"<h1>Bad gateway</h1>", 502)
    with pytest.raises(EngineProtocolError, match="502: <h1>Bad gateway"):
        reply(context)


def test_an_answer_that_is_not_the_protocol_is_named(server: FakeServer, engine: KoboldEngine) -> None:
    server.handlers["/api/v1/tokenize"] = lambda _: Answer(b"hello?")
    with pytest.raises(EngineProtocolError, match="/api/v1/tokenize"):
        engine.tokenize("a")


def test_a_context_that_is_too_large_is_refused_before_anything_is_sent(
    server: FakeServer, context: KoboldContext
) -> None:
    before = len(server.requests)
    with pytest.raises(ContextTooLarge):
        context.sync([Placed(index, 97) for index in range(65)])
    assert context.tokens == PROMPT
    assert len(server.requests) == before


def test_a_full_context_ends_at_once_and_room_bounds_the_reply(server: FakeServer, context: KoboldContext) -> None:
    context.sync([Placed(index, 97) for index in range(60)])
    reply(context, max_tokens=100)
    assert server.bodies(STREAM)[-1]["max_length"] == 4
    context.sync([Placed(index, 97) for index in range(64)])
    assert reply(context) == [Step(None, "", None, "length")]


def test_stop_strings_hold_even_if_the_server_ignores_them(server: FakeServer, context: KoboldContext) -> None:
    server.streams(*(token(letter, even(3 + index)) for index, letter in enumerate("abENDcd")), done())
    steps = reply(context, stop=("END",))
    assert (text_of(steps), steps[-1].finish_reason) == ("ab", "stop_string")


def test_an_end_sign_ends_the_reply_without_text(server: FakeServer, context: KoboldContext) -> None:
    server.streams(token("x", even(3)), token("</s>", even(4), token_id=2), done())
    steps = reply(context)
    assert (text_of(steps), steps[-1].token_id, steps[-1].finish_reason) == ("x", 2, "end")


def test_a_preview_changes_nothing(server: FakeServer, context: KoboldContext) -> None:
    server.streams(token("x"), token("y"), done("length"))
    assert [token.text for token in context.preview([100], 2)] == ["x", "y"]
    [sent] = server.bodies(STREAM)
    assert (sent["input_ids"], sent["max_length"], sent["top_k"]) == ([97, 98, 99, 100], 2, 1)
    assert context.tokens == PROMPT


def test_a_server_that_is_away_is_named_and_used_again_when_it_is_back(server: FakeServer) -> None:
    server.stop()
    with pytest.raises(EngineUnavailable, match=f"{server.url} cannot be reached"):
        KoboldEngine(server.url)
    server.start()
    with closing(KoboldEngine(server.url)) as engine:
        context = engine.open_context()
        context.sync(PROMPT)
        server.stop()
        for _ in range(2):
            with pytest.raises(EngineUnavailable, match=server.url):
                engine.tokenize("a")
            with pytest.raises(EngineUnavailable, match=server.url):
                reply(context)
        server.start()
        assert engine.tokenize("a")
        server.streams(token("x", even(3)), done())
        assert text_of(reply(context)) == "x"


class StockKobold(FakeServer):
    """KoboldCPP as its public API describes it: ids of a text, text of ids, and pieces of text without ids."""

    def __init__(self, *, detokenizes: bool = True) -> None:
        super().__init__(
            {
                "/api/v1/model": lambda _: {"result": "koboldcpp/stock-7b"},
                "/api/extra/version": lambda _: {"result": "KoboldCpp", "version": "1.80"},
                "/api/extra/true_max_context_length": lambda _: {"value": 256},
                "/api/extra/tokencount": self.count,
                "/api/extra/abort": lambda _: {"success": "true", "done": "true"},
            }
        )
        if detokenizes:
            self.handlers["/api/extra/detokenize"] = answering(self.text)
        self.words: list[str] = ["<s>"]

    def count(self, message: Message) -> Message:
        ids = [self.number(word) for word in re.findall(r" ?\w+|\s|[^\w\s]", message["prompt"])]
        if message.get("special", True):
            ids = [0, *ids]
        return {"value": len(ids), "ids": ids}

    def text(self, message: Message) -> Message:
        return {"result": "".join(self.words[number] for number in message["ids"]), "success": True}

    def number(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return self.words.index(word)

    def says(self, *texts: str, reason: str = "stop") -> None:
        pieces = [event({"token": text, "finish_reason": None}) for text in texts]
        self.streams(*pieces, event({"token": "", "finish_reason": reason}))


@pytest.mark.parametrize("detokenizes", [True, False])
def test_a_stock_server_still_chats(detokenizes: bool) -> None:
    with StockKobold(detokenizes=detokenizes) as server, closing(KoboldEngine(server.url)) as engine:
        assert engine.dialect == "stock"
        assert (engine.facts.name, engine.facts.usable_context) == ("koboldcpp/stock-7b", 256)
        assert not engine.facts.abilities.attention.available
        assert "stock" in engine.facts.abilities.attention.why_not
        question = "Hello there, you"
        tokens = engine.tokenize(question)
        assert "".join(token.text for token in tokens) == question
        assert [token.text for token in tokens] == (
            ["Hello", " there", ",", " you"] if detokenizes else ["", "", "", question]
        )
        context = engine.open_context()
        context.sync([Placed(index, token.id) for index, token in enumerate(tokens)])
        server.says(" I am", " fine", ".")
        steps = reply(context, temperature=0)
        assert (text_of(steps), steps[-1].finish_reason) == (" I am fine.", "end")
        assert all(step.attention is None for step in steps)
        [sent] = server.bodies(STREAM)
        assert (sent["prompt"], sent["top_k"], sent["max_context_length"]) == (question, 1, 256)
        assert engine.detokenize([token.token_id for token in context.tokens]) == question + " I am fine."
        server.says(" Again", reason="length")
        assert reply(context)[-1].finish_reason == "length"
        assert server.bodies(STREAM)[-1]["prompt"] == question + " I am fine."
        assert not engine.skipped_attention


def test_a_stock_server_that_reports_an_error_is_named() -> None:
    with StockKobold() as server, closing(KoboldEngine(server.url)) as engine:
        context = engine.open_context()
        context.sync([Placed(0, engine.tokenize("Hi")[0].id)])
        server.streams(event({"token": "", "finish_reason": "error"}))
        with pytest.raises(EngineProtocolError, match="reported an error"):
            reply(context)


def test_texts_of_a_stock_servers_tokens_are_asked_for_once() -> None:
    with StockKobold() as server, closing(KoboldEngine(server.url)) as engine:
        engine.tokenize("one two")
        before = len(server.requests)
        engine.tokenize("one two")
        assert len(server.requests) == before


def test_a_stock_server_without_texts_cannot_show_what_it_never_saw() -> None:
    with (
        StockKobold(detokenizes=False) as server,
        closing(KoboldEngine(server.url)) as engine,
        pytest.raises(EngineProtocolError, match="update KoboldCPP"),
    ):
        engine.detokenize([12345])


class CountingTransport:
    """Records the request bodies that a client sends, by path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        send = httpx2.Client.send

        def counted(client: httpx2.Client, request: httpx2.Request, **options: Any) -> httpx2.Response:
            self.bodies.append((request.url.path, request.read()))
            return send(client, request, **options)

        monkeypatch.setattr(httpx2.Client, "send", counted)

    def last(self, path: str) -> Message:
        message: Message = json.loads([body for asked, body in self.bodies if asked == path][-1])
        return message


def test_only_the_difference_travels_to_our_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(EchoEngine(["a reply"] * 3)) as url, closing(KoboldEngine(url)) as engine:
        sent = CountingTransport(monkeypatch)
        context = engine.open_context()
        wanted = [Placed(10**20 + index, 97) for index in range(1000)]
        context.sync(wanted)
        context.sync([*wanted[:400], *wanted[500:]])
        message = sent.last("/api/extra/context/sync")
        assert message["edits"] == [[400, 100, []]]
        assert "tokens" not in message
        reply(context)
        requests = len(sent.bodies)
        reply(context)
        assert [path for path, _ in sent.bodies[requests:]] == [STREAM]
        assert not engine.skipped_attention


def test_a_context_that_the_server_closed_is_opened_and_sent_again() -> None:
    with serving(EchoEngine(["one two three"] * 4), most_contexts=1) as url, closing(KoboldEngine(url)) as engine:
        first = engine.open_context()
        first.sync(PROMPT)
        second = engine.open_context()
        assert first.sync(PROMPT[:2]).decoded == 2
        second.sync(PROMPT)
        assert text_of(reply(first)) == "one two three"
        assert second.preview([97], 1)
        assert second.tokens == PROMPT


def test_a_server_that_went_away_leaves_our_own_list_whole() -> None:
    with serving(EchoEngine(["reply"])) as url:
        engine = KoboldEngine(url)
        context = engine.open_context()
        context.sync(PROMPT)
    with closing(engine):
        for ask in (lambda: reply(context), lambda: context.sync(PROMPT[:1]), lambda: context.preview([97], 1)):
            with pytest.raises(EngineUnavailable, match="cannot be reached"):
                ask()
        assert context.tokens == PROMPT
        context.close()


def test_a_server_that_lost_its_count_gets_the_whole_context(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(EchoEngine()) as url, closing(KoboldEngine(url)) as engine:
        context = engine.open_context()
        context.sync(PROMPT)
        sent = CountingTransport(monkeypatch)
        context.sync(PROMPT)
        context_id = sent.last("/api/extra/context/sync")["context_id"]
        httpx2.post(f"{url}/api/extra/context/sync", json={"context_id": context_id, "tokens": []}, trust_env=False)
        report = context.sync([*PROMPT, Placed(3, 100)])
        assert report.kept + report.restored + report.decoded == 4
        assert sent.last("/api/extra/context/sync")["tokens"] == [["0", [97, 98, 99, 100]]]


def test_our_server_refuses_and_the_client_says_the_same_thing() -> None:
    with serving(EchoEngine(context_tokens=8)) as url, closing(KoboldEngine(url)) as engine:
        context = engine.open_context()
        context.sync(PROMPT)
        with pytest.raises(InputError, match="no token -5"):
            context.sync([Placed(0, -5)])
        assert context.tokens == PROMPT
        with pytest.raises(ContextTooLarge) as refusal:
            context.preview([97], 7)
        assert (refusal.value.wanted_tokens, refusal.value.usable_tokens) == (11, 8)


def test_an_abandoned_reply_leaves_what_was_shown() -> None:
    with serving(EchoEngine(["one two three four five"] * 2)) as url, closing(KoboldEngine(url)) as engine:
        context = engine.open_context()
        context.sync(PROMPT)
        steps = context.generate(GenerationSettings())
        first = next(steps)
        steps.close()  # type: ignore[attr-defined]
        assert [token.token_id for token in context.tokens[3:]] == [first.token_id]
        assert text_of(reply(context)) == "one two three four five"


def test_a_reply_at_positions_with_gaps_keeps_them() -> None:
    with serving(EchoEngine(["one two"] * 2)) as url, closing(KoboldEngine(url)) as engine:
        context = engine.open_context()
        context.sync(PROMPT)
        list(context.generate(GenerationSettings(max_tokens=3), iter([10, 20, 30])))
        assert [token.position for token in context.tokens[3:]][:2] == [10, 20]
        report = context.sync(context.tokens)
        assert report.kept + report.restored + report.decoded == len(context.tokens)
        with pytest.raises(InputError, match="positions"):
            list(context.generate(GenerationSettings(), iter([100])))
