"""Editing the context of the real bundled model."""

import random
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.engine import Attention, AttentionChoice, GenerationSettings, Placed
from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineError, EngineStopped, InputError
from support.placing import placed

PARAGRAPHS = (
    "The lighthouse keeper wrote down the weather every evening, in a book bound in green cloth.",
    "Miso the cat slept on the warm router, and whoever wanted her to move had to offer tuna first.",
    "On the third of June the ferry was late, because the harbour master had lost the key to the crane.",
    "A recipe for bread: flour, water, salt, and the patience to fold the dough once every half an hour.",
    "Nobody remembered who had painted the door blue, but everybody agreed that it had always been blue.",
    "The archive holds eleven boxes of letters, and in the ninth box there is a map of a town that burned.",
    "When the power went out, the children counted the seconds between the lightning and the thunder.",
    "She kept the old radio for its dial alone, which glowed like a small green moon in the kitchen.",
)
ONE_STEP = GenerationSettings(temperature=0, max_tokens=1)


def chunks_of(engine: LlamaEngine) -> list[list[Placed]]:
    first, chunks = 0, []
    for paragraph in PARAGRAPHS:
        chunks.append(placed(engine, paragraph + "\n\n", first))
        first += len(chunks[-1])
    return chunks


def joined(chunks: list[list[Placed]], living: set[int]) -> list[Placed]:
    return [token for number, chunk in enumerate(chunks) if number in living for token in chunk]


def attention_of(context: LlamaContext) -> Attention:
    step = next(iter(context.generate(ONE_STEP)))
    assert step.attention is not None
    return step.attention


@pytest.fixture
def context(llama_engine: LlamaEngine) -> Iterator[LlamaContext]:
    context = llama_engine.open_context()
    yield context
    context.close()


@settings(max_examples=8)
@given(
    st.lists(st.sets(st.integers(1, len(PARAGRAPHS) - 1)), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_burials_and_resurrections_leave_the_context_that_was_asked_for(
    llama_engine: LlamaEngine, livings: list[set[int]], keeps_rows: bool
) -> None:
    """Text and order are as requested, and attention has one entry per token, similar to that of a re-read context.

    The correlation is over the logarithm of attention without the first token, which outshines all others.
    """
    engine = llama_engine
    edited, reread = engine.open_context(), engine.open_context()
    chunks = chunks_of(engine)
    everything = set(range(len(chunks)))
    try:
        for living in [everything, *livings]:
            wanted = joined(chunks, living | {0})
            if not keeps_rows:
                engine._kept.forget(edited._owner)
            edited.sync(wanted)
            assert edited.tokens == wanted
            text = engine.detokenize([token.token_id for token in edited.tokens])
            assert text == "".join(PARAGRAPHS[number] + "\n\n" for number in sorted(living | {0}))
            attention = attention_of(edited)
            assert attention.shape == (len(wanted),)
            assert abs(attention.sum() - 1) < 1e-3
        reread.sync(wanted, clean=True)
        expected = attention_of(reread)
        assert np.corrcoef(np.log(attention[1:] + 1e-9), np.log(expected[1:] + 1e-9))[0, 1] > 0.9
    finally:
        edited.close()
        reread.close()


def test_attention_belongs_to_tokens_not_to_cells(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    """The model looks at a word that it copies, wherever burials and resurrections have moved its cell."""
    engine = llama_engine
    chunks = chunks_of(engine)
    chunks.append(placed(engine, "Miso the cat slept on the warm", chunks[-1][-1].position + 1))
    everything = set(range(len(chunks)))
    router = next(i for i, token in enumerate(chunks[1]) if "router" in engine.detokenize([token.token_id]))
    for buried in ({2, 3}, {1, 2}, {4, 6, 7}, {1, 5}):
        context.sync(joined(chunks, everything - buried))
        context.sync(joined(chunks, everything))
        attention = attention_of(context)
        place = len(chunks[0]) + router
        others = np.delete(attention, [0, *range(len(attention) - 8, len(attention)), place])
        assert attention[place] > np.percentile(others, 99)


def test_buried_text_returns_from_kept_rows_and_new_text_is_decoded(
    llama_engine: LlamaEngine, context: LlamaContext
) -> None:
    chunks = chunks_of(llama_engine)
    everything = joined(chunks, set(range(len(chunks))))
    context.sync(everything)
    buried = context.sync(joined(chunks, {0, 1, 4, 5, 6, 7}))
    assert (buried.removed, buried.decoded) == (len(chunks[2]) + len(chunks[3]), 1)
    returned = context.sync(everything)
    assert (returned.restored, returned.decoded) == (len(chunks[2]) + len(chunks[3]), 1)


def test_the_engine_knows_which_removed_text_it_kept(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    chunks = chunks_of(llama_engine)
    context.sync(joined(chunks, {0, 1, 2, 7}))
    context.sync(joined(chunks, {0, 7}))
    assert all(map(context.keeps, [*chunks[1], *chunks[2]]))
    assert not any(map(context.keeps, [*chunks[0], *chunks[3]]))
    context.sync(joined(chunks, {0, 7}), clean=True)
    assert not context.keeps(chunks[1][0])


def test_a_part_of_kept_rows_can_return_alone(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    """Rows that were buried together can return separately."""
    chunks = chunks_of(llama_engine)
    context.sync(joined(chunks, set(range(8))))
    expected = attention_of(context)
    context.sync(joined(chunks, {0, 7}))
    assert context.sync(joined(chunks, {0, 3, 4, 7})).restored == len(chunks[3]) + len(chunks[4])
    assert context.sync(joined(chunks, {0, 1, 3, 4, 6, 7})).restored == len(chunks[1]) + len(chunks[6])
    assert context.sync(joined(chunks, set(range(8)))).restored == len(chunks[2]) + len(chunks[5])
    assert np.corrcoef(attention_of(context)[1:], expected[1:])[0, 1] > 0.99


def test_a_clean_sync_forgets_kept_rows(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    chunks = chunks_of(llama_engine)
    everything = joined(chunks, set(range(8)))
    context.sync(everything)
    context.sync(joined(chunks, {0, 1, 2, 5, 6, 7}))
    context.sync(joined(chunks, {0, 1, 2, 6, 7}), clean=True)
    assert context.sync(everything).restored == 0


def test_nothing_of_a_deleted_text_is_left_after_a_clean_sync(llama_engine: LlamaEngine) -> None:
    """The next token's attention and choice are exactly those of a context that never contained the text."""
    chunks = chunks_of(llama_engine)
    had, never_had = llama_engine.open_context(), llama_engine.open_context()
    had.sync(joined(chunks, set(range(8))))
    had.sync(joined(chunks, {0, 1, 5, 6, 7}), clean=True)
    never_had.sync(joined(chunks, {0, 1, 5, 6, 7}))
    assert np.array_equal(attention_of(had), attention_of(never_had))
    had.close()
    never_had.close()


def test_edits_in_several_places_at_once_are_one_sync(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    chunks = chunks_of(llama_engine)
    context.sync(joined(chunks, {0, 2, 3, 5, 7}))
    report = context.sync(joined(chunks, {0, 1, 3, 4, 6, 7}))
    assert report.removed == len(chunks[2]) + len(chunks[5])
    assert report.decoded == len(chunks[1]) + len(chunks[4]) + len(chunks[6]) + 1
    assert report.kept == len(chunks[0]) + len(chunks[3]) + len(chunks[7]) - 1


def test_a_long_life_of_random_edits_never_needs_a_second_reading(llama_engine: LlamaEngine) -> None:
    """The cells are always where they are expected: no edit falls back to reading everything."""
    context = llama_engine.open_context()
    chunks = chunks_of(llama_engine)
    chance = random.Random(7)
    living = set(range(8))
    context.sync(joined(chunks, living))
    for _ in range(40):
        before = set(living)
        living = {0} | {number for number in range(8) if chance.random() < 0.6}
        report = context.sync(joined(chunks, living))
        new = sum(len(chunks[number]) for number in living - before)
        assert report.decoded <= 1
        assert report.restored in (new, new - 1)
        list(context.generate(GenerationSettings(temperature=0, max_tokens=3)))
    context.close()


def test_cells_that_are_not_as_expected_are_read_again(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    """The mask reveals a wrong map of the cells, which costs a re-read instead of giving wrong attention."""
    chunks = chunks_of(llama_engine)
    wanted = joined(chunks, set(range(8)))
    context.sync(wanted)
    context._held = context._held._replace(cells=context._held.cells + 1)
    report = context.sync(joined(chunks, {0, 1, 2, 6, 7}))
    assert report.decoded == len(context.tokens)
    assert attention_of(context).shape == (len(context.tokens),)


def test_reading_can_be_stopped_and_goes_on_where_it_was(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    wanted = placed(llama_engine, " ".join(PARAGRAPHS * 6))
    assert len(wanted) > 1000
    decode = context._computation.decode
    calls, cancellation = [], Cancellation()

    def stopping_decode(*arguments: object) -> None:
        decode(*arguments)  # type: ignore[arg-type]
        calls.append(arguments)
        if len(calls) == 2:
            threading.Thread(target=cancellation.cancel).start()
            cancellation.wait()

    context._computation.decode = stopping_decode  # type: ignore[assignment,method-assign]
    with pytest.raises(EngineStopped):
        context.sync(wanted, cancellation=cancellation)
    assert 0 < len(context.tokens) < len(wanted)
    assert context.tokens == wanted[: len(context.tokens)]
    kept = len(context.tokens)
    assert context.sync(wanted).kept == kept
    context.sync(wanted, clean=True)


def test_an_unknown_token_is_refused_and_nothing_changes(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    wanted = chunks_of(llama_engine)[0]
    context.sync(wanted)
    with pytest.raises(InputError, match="49152"):
        context.sync([*wanted, Placed(10_000, 49_152)])
    assert context.tokens == wanted


@pytest.mark.parametrize("why_not", [SimpleNamespace(can_drop_tail=True), SimpleNamespace(can_drop_tail=False)])
def test_a_model_that_cannot_be_edited_keeps_its_beginning_and_reads_the_rest(
    llama_engine: LlamaEngine, why_not: SimpleNamespace
) -> None:
    """If not even the end can be truncated (recurrent layers), everything is read again."""
    context = llama_engine.open_context()
    context._editor.is_editable = False
    context._editor.can_drop_tail = why_not.can_drop_tail
    chunks = chunks_of(llama_engine)
    context.sync(joined(chunks, set(range(8))))
    wanted = joined(chunks, {0, 1, 4, 5})
    report = context.sync(wanted)
    kept = len(chunks[0]) + len(chunks[1]) if why_not.can_drop_tail else 0
    assert (report.kept, report.decoded, report.restored) == (kept, len(wanted) - kept, 0)
    reread = llama_engine.open_context()
    reread.sync(wanted)
    assert np.allclose(attention_of(context), attention_of(reread), atol=1e-3)
    more = [*wanted, *placed(llama_engine, "And then", wanted[-1].position + 1)]
    assert context.preview([token.token_id for token in more[len(wanted) :]], 4)
    assert context.tokens[: len(wanted)] == wanted
    assert attention_of(context).shape == (len(context.tokens),)
    context.close()
    reread.close()


def test_chosen_layers_and_heads_are_reduced_as_asked(llama_engine: LlamaEngine) -> None:
    wanted = chunks_of(llama_engine)[0]
    raw = llama_engine.open_context(attention=AttentionChoice(reduce="none"))
    raw.sync(wanted)
    values = attention_of(raw)
    assert values.shape == (30, 9, len(wanted))
    assert np.allclose(values.sum(axis=-1), 1, atol=1e-3)
    for choice, expected in (
        (AttentionChoice(layers=(3, 17), heads=(0, 8)), values[[3, 17]][:, [0, 8]].mean(axis=(0, 1))),
        (AttentionChoice(layers=(0,)), values[0].mean(axis=0)),
        (AttentionChoice(heads=(4,), reduce="max"), values[:, 4].max(axis=0) / values[:, 4].max(axis=0).sum()),
        (AttentionChoice(layers=(2, 1), reduce="none"), values[[2, 1]]),
    ):
        context = llama_engine.open_context(attention=choice)
        report = context.sync(wanted, observe=True)
        assert np.allclose(attention_of(context), expected, atol=1e-6)
        assert report.reading is not None
        assert np.allclose(report.reading[-1], expected, atol=1e-3)
        context.close()
    raw.close()


def test_a_layer_or_head_that_is_not_there_is_refused(llama_engine: LlamaEngine) -> None:
    with pytest.raises(InputError, match="layer 30"):
        llama_engine.open_context(attention=AttentionChoice(layers=(30,)))
    with pytest.raises(InputError, match="head 9"):
        llama_engine.open_context(attention=AttentionChoice(heads=(9,)))


def test_observed_reading_is_what_a_step_would_have_seen(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    """A token read in a batch has the same row as when it is the last token."""
    wanted = joined(chunks_of(llama_engine), {0, 1, 2, 3, 4})
    report = context.sync(wanted, observe=True)
    assert report.reading is not None
    other = llama_engine.open_context()
    other.sync(wanted[:50])
    assert np.allclose(report.reading[49, :50], attention_of(other), atol=2e-3)
    other.close()


def test_the_machine_code_and_the_plain_callback_hear_the_same(
    llama_engine: LlamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = chunks_of(llama_engine)[0]
    monkeypatch.setattr("halo_weave.engine.llamacpp.recorder.platform.machine", lambda: "unknown")
    plain = llama_engine.open_context()
    monkeypatch.undo()
    filtered = llama_engine.open_context()
    plain.sync(wanted)
    filtered.sync(wanted)
    assert np.allclose(attention_of(plain), attention_of(filtered), atol=1e-7)
    assert np.array_equal(plain._held.cells, filtered._held.cells)
    plain.close()
    filtered.close()


def test_several_contexts_can_generate_at_the_same_time(llama_engine: LlamaEngine) -> None:
    chunks = chunks_of(llama_engine)
    contexts = [llama_engine.open_context() for _ in range(2)]
    texts: dict[int, str] = {}
    for number, context in enumerate(contexts):
        context.sync(chunks[number])

    def generate(number: int) -> None:
        steps = contexts[number].generate(GenerationSettings(temperature=0, max_tokens=8))
        texts[number] = "".join(step.text for step in steps)

    threads = [threading.Thread(target=generate, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, context in enumerate(contexts):
        context.sync(chunks[number])
        generated = texts[number]
        generate(number)
        assert texts[number] == generated
        context.close()


def test_a_full_context_ends_the_reply_without_an_error() -> None:
    engine = LlamaEngine(EngineSettings(context_tokens=64))
    context = engine.open_context()
    context.sync(placed(engine, PARAGRAPHS[0] * 2))
    steps = list(context.generate(GenerationSettings(temperature=0.8, seed=3, max_tokens=500)))
    assert steps[-1].finish_reason in ("length", "end")
    assert len(context.tokens) <= 64
    engine.close()


def test_a_context_changed_during_a_reply_says_so(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    chunk = chunks_of(llama_engine)[0]
    context.sync(chunk)
    steps = context.generate(GenerationSettings(temperature=0, max_tokens=5))
    next(steps)
    context.sync(chunk)
    with pytest.raises(EngineError, match="changed"):
        next(steps)


def test_reading_more_than_one_batch_reports_each_batch(llama_engine: LlamaEngine, context: LlamaContext) -> None:
    wanted = placed(llama_engine, " ".join(PARAGRAPHS) * 4, 0)[:600]
    told: list[tuple[int, int]] = []
    context.sync(wanted, on_read=lambda *read: told.append(read))
    assert told == [(512, 600), (599, 600)]
