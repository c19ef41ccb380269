"""Models of every kind can chat, whether or not their context can be edited and their attention read."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from halo_weave.engine import Attention, AttentionChoice, GenerationSettings, Placed
from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineStopped
from halo_weave.memory.embedders.minilm import converted_minilm
from halo_weave.paths import bundled_minilm_folder
from halo_weave.text.chat_template import TurnMarks, chatml
from support import tiny_models
from support.placing import asked, placed

TEXT = "The other man went on in the rain, and then he counted the hours; nobody was at the end of the road."
BEGINNING, END = 20, 50
"""The places between which lies the middle of the text, which is buried and returns."""

GREEDY = GenerationSettings(temperature=0, repeat_penalty=1, max_tokens=12)


class Kind(NamedTuple):
    write: Callable[[Path], Path]
    why_no_editing: str = ""
    has_attention: bool = True
    keeps_beginning: bool = True
    """Whether text before a change can be kept without reading it again."""


KINDS = {
    "plain": Kind(tiny_models.write_llama),
    "plain with a template": Kind(tiny_models.write_llama_with_template),
    "recurrent": Kind(tiny_models.write_mamba, "recurrent layers", has_attention=False, keeps_beginning=False),
    "sliding window": Kind(tiny_models.write_gemma2, "sliding-window layers"),
    "several positions": Kind(tiny_models.write_qwen2vl, "M-RoPE"),
    "hybrid by layer": Kind(tiny_models.write_lfm2, "recurrent layers", has_attention=False, keeps_beginning=False),
    "hybrid in each layer": Kind(tiny_models.write_falcon_h1, "recurrent layers", keeps_beginning=False),
}
READING_AGAIN = [name for name, kind in KINDS.items() if kind.why_no_editing]
WITH_ATTENTION = [name for name, kind in KINDS.items() if kind.has_attention]

Engines = Callable[[str], LlamaEngine]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the file of a kind of model, written at first use."""
    folder = tmp_path_factory.mktemp("tiny-models")

    def find(name: str) -> Path:
        path = folder / f"{name.replace(' ', '-')}.gguf"
        return path if path.exists() else KINDS[name].write(path)

    return find


@pytest.fixture(scope="module")
def engine_of(tiny_model: Callable[[str], Path]) -> Iterator[Engines]:
    """Return the loaded model of a kind."""
    engines: dict[str, LlamaEngine] = {}

    def find(name: str) -> LlamaEngine:
        if name not in engines:
            engines[name] = LlamaEngine(settings_for(tiny_model(name)))
        return engines[name]

    yield find
    for engine in engines.values():
        engine.close()


def settings_for(path: Path) -> EngineSettings:
    """A tiny model needs only one thread: several would mostly wait for each other."""
    return EngineSettings(model=str(path), context_tokens=256, threads=1)


def without_middle(tokens: list[Placed]) -> list[Placed]:
    return tokens[:BEGINNING] + tokens[END:]


def continuation(context: LlamaContext) -> list[int]:
    return [step.token_id for step in context.generate(GREEDY) if step.token_id is not None]


def attention_of(context: LlamaContext) -> Attention:
    attention = next(iter(context.generate(GREEDY))).attention
    assert attention is not None
    return attention


@pytest.mark.parametrize("name", KINDS)
def test_a_tiny_model_is_tiny(tiny_model: Callable[[str], Path], name: str) -> None:
    """Test models stay well under two megabytes."""
    assert tiny_model(name).stat().st_size < 1_200_000


@pytest.mark.parametrize("name", KINDS)
def test_the_abilities_of_a_model_are_told_with_the_reason_for_each_that_is_missing(
    engine_of: Engines, name: str
) -> None:
    """An ability is available, or comes with a reason that names what the model has or lacks."""
    kind, abilities = KINDS[name], engine_of(name).facts.abilities
    assert abilities.editing.available == (not kind.why_no_editing)
    assert kind.why_no_editing in abilities.editing.why_not
    assert bool(abilities.editing.why_not) == bool(kind.why_no_editing)
    assert abilities.attention.available == kind.has_attention
    assert abilities.attention.why_not == ("" if kind.has_attention else "the model has no readable attention")


@pytest.mark.parametrize("name", KINDS)
def test_the_abilities_are_the_same_where_no_machine_code_listens(
    tiny_model: Callable[[str], Path], engine_of: Engines, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On a processor without our machine code, a model has the same abilities."""
    expected = engine_of(name).facts.abilities
    monkeypatch.setattr("halo_weave.engine.llamacpp.recorder.platform.machine", lambda: "unknown")
    engine = LlamaEngine(settings_for(tiny_model(name)))
    assert engine.facts.abilities == expected
    engine.close()


def test_a_model_that_says_nothing_about_chatting_is_spoken_to_in_chatml(engine_of: Engines) -> None:
    """Without a template in the file, turns are marked as in ChatML, with control tokens."""
    engine = engine_of("plain")
    assert engine.facts.chat_template == chatml()
    signs = [token.text for token in engine.tokenize("<|im_start|>user\nHi<|im_end|>\n", special=True)]
    assert signs == ["<|im_start|>", *"us", "er", *"\nHi", "<|im_end|>", "\n"]


def test_a_model_with_a_template_of_its_own_is_spoken_to_as_it_says(engine_of: Engines) -> None:
    """The frames of turns come from the template in the file."""
    template = engine_of("plain with a template").facts.chat_template
    assert (template.source, template.start) == ("model", "<|begin_of_text|>")
    assert template.user == TurnMarks("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>")
    assert template.assistant == TurnMarks("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>")


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_any_kind_answers_goes_on_and_takes_changes_in_the_middle(engine_of: Engines, name: str) -> None:
    """Whatever the kind, after each change the context holds exactly the wanted tokens, and the reports add up."""
    kind, engine = KINDS[name], engine_of(name)
    wanted = placed(engine, TEXT)
    shortened = without_middle(wanted)
    context = engine.open_context()

    report = context.sync(wanted)
    assert context.tokens == wanted
    assert (report.kept, report.removed, report.restored, report.decoded) == (0, 0, 0, len(wanted))
    reply = continuation(context)
    assert len(reply) == GREEDY.max_tokens
    answered = context.tokens
    assert answered[: len(wanted)] == wanted
    generated = [token.token_id for token in answered[len(wanted) :]]
    assert generated == reply[: len(generated)]

    report = context.sync(shortened)
    assert context.tokens == shortened
    assert report.removed == len(answered) - len(shortened)
    assert report.kept + report.restored + report.decoded == len(shortened)
    untouched = BEGINNING if kind.keeps_beginning else 0
    if kind.why_no_editing:
        assert (report.kept, report.restored) == (untouched, 0)
    else:
        assert (report.kept, report.decoded) == (len(shortened) - 1, 1)

    report = context.sync(wanted)
    assert context.tokens == wanted
    assert report.removed == 0
    assert report.kept + report.restored + report.decoded == len(wanted)
    if kind.why_no_editing:
        assert (report.kept, report.restored) == (untouched, 0)
    else:
        assert (report.restored, report.decoded) == (END - BEGINNING, 1)

    assert len(context.preview([token.token_id for token in wanted[:5]], 4)) == 4
    assert context.tokens == wanted
    assert len(continuation(context)) == GREEDY.max_tokens
    held = context.tokens
    assert context.sync([]).removed == len(held)
    assert context.tokens == []
    context.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_any_kind_holds_a_conversation(engine_of: Engines, name: str) -> None:
    """A second question is appended after the first answer, and nothing before it is read again."""
    engine = engine_of(name)
    context = engine.open_context()
    context.sync(asked(engine, "Who?"))
    answer = continuation(context)
    held = context.tokens
    more = [*held, *asked(engine, "And why?", held[-1].position + 1)]
    report = context.sync(more)
    assert (report.kept, report.removed, report.decoded) == (len(held), 0, len(more) - len(held))
    assert context.tokens == more
    assert answer
    assert continuation(context)
    context.close()


@pytest.mark.parametrize("name", READING_AGAIN)
def test_a_model_that_reads_again_goes_on_as_if_the_text_had_always_been_so(engine_of: Engines, name: str) -> None:
    """After any change, the greedy continuation equals that of a fresh context with the same tokens."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    edited = engine.open_context()
    edited.sync(wanted)
    continuations = []
    for tokens in (without_middle(wanted), wanted, wanted[:END], wanted[BEGINNING:], wanted):
        edited.sync(tokens)
        fresh = engine.open_context()
        fresh.sync(tokens)
        assert np.allclose(edited.logits(), fresh.logits(), atol=1e-3)
        continuations.append(continuation(fresh))
        assert continuation(edited) == continuations[-1]
        fresh.close()
    # The text matters to the model, so a context with other tokens would have been noticed.
    assert continuations[0] != continuations[1] != continuations[2] != continuations[3] != continuations[4]
    assert continuations[4] == continuations[1]
    edited.close()


@pytest.mark.parametrize("name", [name for name in KINDS if name not in READING_AGAIN])
def test_a_model_that_can_be_edited_goes_on_as_a_fresh_one_after_a_clean_sync(engine_of: Engines, name: str) -> None:
    """A clean sync after edits gives exactly the continuation of a fresh context."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    edited, fresh = engine.open_context(), engine.open_context()
    for tokens in (wanted, without_middle(wanted), wanted):
        edited.sync(tokens)
    edited.sync(without_middle(wanted), clean=True)
    fresh.sync(without_middle(wanted))
    assert continuation(edited) == continuation(fresh)
    edited.close()
    fresh.close()


@pytest.mark.parametrize("name", WITH_ATTENTION)
def test_attention_has_an_entry_for_each_token_whatever_was_changed(engine_of: Engines, name: str) -> None:
    """Each step's attention covers the current tokens of the context and sums to 1."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    context = engine.open_context()
    for tokens in (wanted, without_middle(wanted), wanted):
        context.sync(tokens)
        for number, step in enumerate(context.generate(GREEDY)):
            assert step.attention is not None
            assert step.attention.shape == (len(tokens) + number,)
            assert step.attention.sum() == pytest.approx(1, abs=1e-3)
    context.close()


@pytest.mark.parametrize("name", [name for name in WITH_ATTENTION if name in READING_AGAIN])
def test_attention_after_changes_is_that_of_a_fresh_context(engine_of: Engines, name: str) -> None:
    """Entries belong to the right tokens after a part was read again."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    edited, fresh = engine.open_context(), engine.open_context()
    for tokens in (wanted, without_middle(wanted), wanted[:END], without_middle(wanted)):
        edited.sync(tokens)
    fresh.sync(without_middle(wanted))
    assert np.allclose(attention_of(edited), attention_of(fresh), atol=1e-3)
    edited.close()
    fresh.close()


@pytest.mark.parametrize("name", KINDS)
def test_observed_reading_has_a_row_for_each_token_that_was_read(engine_of: Engines, name: str) -> None:
    """A row covers the tokens up to its own and sums to 1; a model without attention only reads."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    context = engine.open_context()
    context.sync(without_middle(wanted))
    report = context.sync(wanted, observe=True)
    if KINDS[name].has_attention:
        assert report.read is not None
        assert report.reading is not None
        assert report.reading.shape == (report.decoded, len(wanted))
        for place, row in zip(report.read, report.reading, strict=True):
            assert row[: place + 1].sum() == pytest.approx(1, abs=1e-3)
    else:
        assert report.read is None
        assert report.reading is None
    context.close()


def test_a_model_without_attention_gives_none_with_its_steps(engine_of: Engines) -> None:
    """Without attention a step has None, never a row of zeros."""
    context = engine_of("recurrent").open_context()
    context.sync(placed(engine_of("recurrent"), TEXT))
    assert all(step.attention is None for step in context.generate(GREEDY))
    context.close()


def test_layers_with_a_sliding_window_look_at_the_window_only(engine_of: Engines) -> None:
    """In every other layer the raw rows end at the window, even after the middle was removed."""
    engine = engine_of("sliding window")
    wanted = placed(engine, TEXT)
    context = engine.open_context(attention=AttentionChoice(reduce="none"))
    for tokens in (wanted, without_middle(wanted)):
        context.sync(tokens)
        rows = attention_of(context)
        assert rows.shape == (tiny_models.LAYERS, tiny_models.HEADS, len(tokens))
        outside = rows[..., : -tiny_models.SLIDING_WINDOW]
        assert not outside[0::2].any()
        assert outside[1::2].all()
    context.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_preview_changes_nothing(engine_of: Engines, name: str) -> None:
    """After a preview the context holds the same tokens and continues the same way."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    previewed, untouched = engine.open_context(), engine.open_context()
    previewed.sync(wanted)
    untouched.sync(wanted)
    expected = continuation(untouched)
    assert [token.id for token in previewed.preview([], 6)] == expected[:6]
    assert len(previewed.preview([token.token_id for token in wanted[:7]], 3)) == 3
    assert previewed.tokens == wanted
    assert continuation(previewed) == expected
    previewed.close()
    untouched.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_preview_works_on_an_empty_context(engine_of: Engines, name: str) -> None:
    """An empty context can preview a text and is still empty afterwards."""
    engine = engine_of(name)
    ids = [token.id for token in engine.tokenize(TEXT)]
    context = engine.open_context()
    previewed = [token.id for token in context.preview(ids, 4)]
    assert context.tokens == []
    context.sync(placed(engine, TEXT))
    assert previewed == continuation(context)[:4]
    context.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_cancelled_preview_leaves_the_context_whole(
    engine_of: Engines, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A preview cancelled before or during its work raises; the next one gives its tokens."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    context = engine.open_context()
    context.sync(wanted)
    decode, during, before = context._computation.decode, Cancellation(), Cancellation()
    before.cancel()

    def cancelling_decode(*arguments: object, **options: object) -> None:
        decode(*arguments, **options)  # type: ignore[arg-type]
        during.cancel()

    with monkeypatch.context() as patch:
        patch.setattr(context._computation, "decode", cancelling_decode)
        for cancellation in (before, during):
            with pytest.raises(EngineStopped):
                context.preview([1], 3, cancellation=cancellation)
            assert context.tokens == wanted
    assert len(context.preview([1], 3)) == 3
    assert context.tokens == wanted
    context.close()


@pytest.mark.parametrize("name", KINDS)
def test_a_sync_that_was_stopped_goes_on_where_it_was(
    engine_of: Engines, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Tokens read before the stop are kept, are not read again, and lead to the same continuation."""
    monkeypatch.setattr("halo_weave.engine.llamacpp.editing.BATCH_TOKENS", 16)
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    stopped, fresh = engine.open_context(), engine.open_context()
    decode, cancellation, batches = stopped._computation.decode, Cancellation(), []

    def cancelling_decode(*arguments: object, **options: object) -> None:
        decode(*arguments, **options)  # type: ignore[arg-type]
        batches.append(arguments)
        if len(batches) == 2:
            cancellation.cancel()

    monkeypatch.setattr(stopped._computation, "decode", cancelling_decode)
    with pytest.raises(EngineStopped):
        stopped.sync(wanted, cancellation=cancellation)
    assert stopped.tokens == wanted[:32]
    report = stopped.sync(wanted)
    fresh.sync(wanted)
    assert (report.kept, report.decoded) == (32, len(wanted) - 32)
    assert continuation(stopped) == continuation(fresh)
    stopped.close()
    fresh.close()


@pytest.mark.parametrize("name", KINDS)
def test_contexts_of_one_model_do_not_disturb_each_other(engine_of: Engines, name: str) -> None:
    """Two contexts in alternation continue as each would alone."""
    engine = engine_of(name)
    wanted = placed(engine, TEXT)
    both = (without_middle(wanted), wanted)
    expected = []
    for tokens in both:
        alone = engine.open_context()
        alone.sync(tokens)
        expected.append(continuation(alone))
        alone.close()
    contexts = [engine.open_context() for _ in both]
    for context, tokens in zip(contexts, both, strict=True):
        context.sync(tokens)
    replies = [context.generate(GREEDY) for context in contexts]
    steps = list(zip(*replies, strict=True))
    for number, context in enumerate(contexts):
        assert [step[number].token_id for step in steps] == expected[number]
        context.close()


TRY_EACH = """
import json, sys
from halo_weave.engine import GenerationSettings, Placed
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable

sound, *broken = json.loads(sys.argv[1])
said = {}
for path in broken:
    try:
        LlamaEngine(EngineSettings(model=path, context_tokens=256, threads=1))
    except EngineUnavailable as error:
        said[path] = str(error)
engine = LlamaEngine(EngineSettings(model=sound, context_tokens=256, threads=1))
context = engine.open_context()
context.sync([Placed(0, 1), Placed(1, 2)])
said[sound] = str(len(list(context.generate(GenerationSettings(temperature=0, max_tokens=3)))))
engine.close()
print(json.dumps(said))
"""
"""Runs in a separate process, because the library could crash it; afterwards it must still load a valid model."""

NOT_CHAT_MODELS = {
    "cut behind the first word": "failed to read header",
    "cut in the metadata": "failed to read key-value pairs",
    "cut in the weights": "corrupted or incomplete",
    "cut before the last byte": "corrupted or incomplete",
    "of an unknown kind": "unknown model architecture: 'lloma'",
    "with a weight missing": "'blk.1.ffn_norm.weight'",
    "a text": "is not a GGUF file",
    "empty": "is not a GGUF file",
    "missing": "cannot be read",
    "a folder": "cannot be read",
    "an embedding model": "cannot chat: it does not generate text token by token",
}


@pytest.fixture(scope="module")
def not_chat_models(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("not chat models")
    whole = tiny_model("plain").read_bytes()
    contents = {
        "cut behind the first word": whole[:4],
        "cut in the metadata": whole[:1000],
        "cut in the weights": whole[: len(whole) // 2],
        "cut before the last byte": whole[:-1],
        "of an unknown kind": whole.replace(b"llama", b"lloma"),
        "with a weight missing": whole.replace(b"blk.1.ffn_norm.weight", b"blk.1.ffn_nerm.weight"),
        "a text": b"Once upon a time there was a model.",
        "empty": b"",
    }
    for name, content in contents.items():
        (folder / f"{name}.gguf").write_bytes(content)
    (folder / "a folder.gguf").mkdir()
    paths = {name: folder / f"{name}.gguf" for name in NOT_CHAT_MODELS}
    return {**paths, "an embedding model": converted_minilm(bundled_minilm_folder(), folder / "cache")}


@pytest.fixture(scope="module")
def said(tiny_model: Callable[[str], Path], not_chat_models: dict[str, Path]) -> dict[str, str]:
    paths = [str(path) for path in (tiny_model("plain"), *not_chat_models.values())]
    process = subprocess.run(
        [sys.executable, "-c", TRY_EACH, json.dumps(paths)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    answers: dict[str, str] = json.loads(process.stdout)
    return answers


@pytest.mark.parametrize("name", NOT_CHAT_MODELS)
def test_what_is_no_chat_model_is_refused_in_one_sentence(
    said: dict[str, str], not_chat_models: dict[str, Path], name: str
) -> None:
    """The message names the file and the problem."""
    path = str(not_chat_models[name])
    assert said[path].startswith(f"The model {path} ")
    assert NOT_CHAT_MODELS[name] in said[path]
    assert said[path].endswith(".")
    assert "\n" not in said[path]


def test_a_process_that_was_given_broken_models_still_runs_a_sound_one(
    said: dict[str, str], tiny_model: Callable[[str], Path]
) -> None:
    """A refused model leaves nothing behind that affects the next one."""
    assert said[str(tiny_model("plain"))] == "3"
