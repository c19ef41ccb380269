"""The clients for OpenAI-compatible servers, against llama.cpp's real server."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.openai_client import OpenAIContext, OpenAIEngine
from halo_weave.engine.protocol import GenerationSettings, Placed
from halo_weave.engine.turns import closing_tokens, opening_tokens, turn_tokens
from halo_weave.errors import ContextTooLarge
from halo_weave.memory.embedders.gguf import GgufEmbedder
from halo_weave.memory.embedders.minilm import converted_minilm
from halo_weave.memory.embedders.openai import OpenAIEmbedder
from halo_weave.paths import bundled_minilm_folder, bundled_model_path
from halo_weave.records.tokens import Token
from support.servers.llama_server import running_llama_server

GREEDY = GenerationSettings(temperature=0, repeat_penalty=1, max_tokens=12)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_llama_server(bundled_model_path()) as url:
        yield url


@pytest.fixture(scope="module")
def engine(url: str) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(url)
    yield engine
    engine.close()


def synced(engine: OpenAIEngine, tokens: list[Token]) -> OpenAIContext:
    context = engine.open_context()
    context.sync([Placed(position, token.id) for position, token in enumerate(tokens)])
    return context


def question(engine: OpenAIEngine, text: str) -> list[Token]:
    return [*turn_tokens(engine, "user", text), *opening_tokens(engine, "assistant")]


def test_facts_come_from_the_real_server(engine: OpenAIEngine) -> None:
    facts = engine.facts
    assert facts.name == bundled_model_path().name
    assert (facts.trained_context, facts.usable_context, facts.vocabulary_size) == (8192, 1024, 49152)


def test_the_real_tokenizer_gives_texts_back(engine: OpenAIEngine, url: str) -> None:
    text = "Grüße aus 東京 🎉<|im_start|>user\n"
    tokens = engine.tokenize(text)
    assert "".join(token.text for token in tokens) == text
    fresh = OpenAIEngine(url)
    assert fresh.detokenize([token.id for token in tokens]) == text
    fresh.close()


def test_the_reply_is_the_one_to_these_messages_over_two_turns(engine: OpenAIEngine, url: str) -> None:
    tokens = question(engine, "What is the capital of France?")
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    for next_question in ("And which country did I ask about?", ""):
        steps = list(synced(engine, tokens).generate(GREEDY))
        text = "".join(step.text for step in steps)
        body = {"messages": messages, "temperature": 0, "max_tokens": GREEDY.max_tokens}
        answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()
        assert text == answer["choices"][0]["message"]["content"]
        written = [step for step in steps if step.finish_reason != "end"]
        tokens += [Token(step.token_id, step.text) for step in written if step.token_id is not None]
        tokens += [*closing_tokens(engine, "assistant"), *question(engine, next_question)]
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": next_question}]


def test_the_same_seed_gives_the_same_text(engine: OpenAIEngine) -> None:
    settings = GenerationSettings(temperature=1, seed=11, max_tokens=15)
    tokens = question(engine, "Tell me about the sea.")
    texts = ["".join(step.text for step in synced(engine, tokens).generate(settings)) for _ in range(2)]
    assert texts[0] == texts[1] != ""


def test_a_begun_reply_is_continued_and_not_begun_anew(engine: OpenAIEngine) -> None:
    tokens = question(engine, "Which is the capital of France?")
    begun = [*tokens, *engine.tokenize("The capital of France is")]
    steps = synced(engine, begun).generate(GenerationSettings(temperature=0, max_tokens=3))
    assert "".join(step.text for step in steps).startswith(" Paris")


def test_a_preview_tells_what_the_reply_begins_with(engine: OpenAIEngine) -> None:
    context = synced(engine, question(engine, "What is the capital of France?"))
    tokens = context.preview([], 5)
    assert [step.token_id for step in context.generate(GREEDY)][:5] == [token.id for token in tokens]


def test_a_stop_takes_effect_and_the_server_goes_on_with_the_next(engine: OpenAIEngine) -> None:
    context = synced(engine, question(engine, "Count from one to a thousand, in words."))
    cancellation = Cancellation()
    steps = context.generate(GenerationSettings(temperature=0, max_tokens=800), cancellation=cancellation)
    next(steps)
    stopper = threading.Thread(target=cancellation.cancel)
    stopper.start()
    assert list(steps)[-1].finish_reason == "stopped"
    stopper.join()
    assert list(context.generate(GREEDY))[-1].finish_reason is not None


def test_a_context_that_only_the_server_finds_too_large_is_refused(engine: OpenAIEngine) -> None:
    exchange = [*turn_tokens(engine, "user", "a"), *turn_tokens(engine, "assistant", "b")]
    context = synced(engine, [*exchange * 100, *question(engine, "c")])
    with pytest.raises(ContextTooLarge):
        list(context.generate(GREEDY))


def test_embeddings_of_the_real_server_are_those_of_the_model_in_this_process(tmp_path: Path) -> None:
    model = converted_minilm(bundled_minilm_folder(), tmp_path)
    texts = ["The cat sat on the mat.", "", "Grüße aus 東京 🎉", "The keeper saw a ship. " * 400]
    local = GgufEmbedder(model)
    with running_llama_server(model, embedding=True) as url:
        served = OpenAIEmbedder(url)
        assert (served.name, served.dimensions) == (f"openai:{model.name}", 384)
        cosines = (served.embed(texts) * local.embed(texts)).sum(axis=1)
        served.close()
    local.close()
    np.testing.assert_allclose(cosines, 1, atol=1e-3)
