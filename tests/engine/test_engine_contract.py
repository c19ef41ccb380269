"""The contract of every engine."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from halo_weave.engine import AttentionChoice, Cancellation, Engine, EngineContext, GenerationSettings, Placed, Step
from halo_weave.errors import ContextTooLarge, EngineError, EngineStopped, InputError
from support.engine_factories import ENGINES, open_for_contract
from support.placing import asked, placed

GREEDY = GenerationSettings(temperature=0, max_tokens=12)
QUESTION = "Please tell me a long story about the sea and the light on the water."


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_for_contract(request) as engine:
        yield engine


@pytest.fixture
def context(engine: Engine) -> Iterator[EngineContext]:
    context = engine.open_context()
    yield context
    context.close()


def reply(context: EngineContext, settings: GenerationSettings = GREEDY) -> list[Step]:
    return list(context.generate(settings))


def text_of(steps: list[Step]) -> str:
    return "".join(step.text for step in steps)


def test_the_facts_say_what_model_it_is_and_what_fits(engine: Engine) -> None:
    facts = engine.facts
    assert facts.name
    assert facts.usable_context > 0
    assert facts.chat_template.user.opening
    assert facts.chat_template.assistant.opening
    for ability in (facts.abilities.attention, facts.abilities.editing):
        assert ability.available == (ability.why_not == "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello, world!",
        " leading and trailing ",
        "Grüße, 世界! 🦉👩‍👩‍👧",
        "a\n\n\tb\r\n",
        "<|im_start|>user\nno turn",
    ],
)
def test_the_texts_of_tokens_join_to_the_text(engine: Engine, text: str) -> None:
    tokens = engine.tokenize(text)
    assert "".join(token.text for token in tokens) == text
    assert engine.detokenize([token.id for token in tokens]) == text


def test_only_special_tokenizing_makes_control_tokens(engine: Engine) -> None:
    opening = engine.facts.chat_template.user.opening
    as_marks = engine.tokenize(opening, special=True)
    as_text = engine.tokenize(opening)
    assert engine.detokenize([token.id for token in as_marks]) == engine.detokenize([token.id for token in as_text])
    assert {token.id for token in as_marks} != {token.id for token in as_text}


def test_sync_makes_the_context_equal_to_the_wanted_one(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "One two three four five six seven eight nine ten.")
    for tokens in (wanted, wanted[:4] + wanted[9:], wanted, wanted[:-3], []):
        report = context.sync(tokens)
        assert context.tokens == tokens
        assert report.kept + report.restored + report.decoded == len(tokens)
        assert report.seconds >= 0


def test_sync_reports_what_it_removed_and_keeps_what_did_not_change(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "One two three four five six seven eight nine ten.")
    context.sync(wanted)
    report = context.sync(wanted)
    assert (report.kept, report.removed, report.restored, report.decoded) == (len(wanted), 0, 0, 0)
    longer = wanted + placed(engine, "Yes", wanted[-1].position + 1)
    report = context.sync(longer)
    assert report.removed == 0
    assert report.kept >= len(wanted) - 1
    assert context.sync(wanted).removed == len(longer) - len(wanted)


def test_a_token_that_the_engine_keeps_returns_without_being_decoded(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "One two three four five six seven eight nine ten.")
    assert not context.keeps(wanted[5])
    context.sync(wanted)
    context.sync(wanted[:3] + wanted[9:])
    is_kept = context.keeps(wanted[5])
    assert context.sync(wanted).restored >= is_kept


def test_a_clean_sync_reads_everything_again(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "One two three four five six seven eight nine ten.")
    context.sync(wanted)
    report = context.sync(wanted[:3] + wanted[6:], clean=True)
    assert (report.kept, report.restored, report.decoded) == (0, 0, len(wanted) - 3)


def test_progress_of_reading_only_grows_and_never_exceeds_what_is_read(engine: Engine, context: EngineContext) -> None:
    told: list[tuple[int, int]] = []
    report = context.sync(placed(engine, "The river is long. " * 60), on_read=lambda *read: told.append(read))
    assert told == sorted(told)
    assert all(0 < read <= total <= report.decoded for read, total in told)


def test_positions_have_no_upper_limit(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "Hi", first=2**64 + 12345678901234567890)
    context.sync(wanted)
    steps = reply(context)
    assert context.tokens[: len(wanted)] == wanted
    assert text_of(steps)


def test_positions_out_of_order_are_refused_and_nothing_changes(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, "Hi")
    context.sync(wanted)
    with pytest.raises(InputError, match="Position"):
        context.sync([*wanted, Placed(wanted[-1].position, wanted[0].token_id)])
    assert context.tokens == wanted


def test_a_context_larger_than_the_models_is_refused_and_nothing_changes(
    engine: Engine, context: EngineContext
) -> None:
    wanted = asked(engine, "Hi")
    context.sync(wanted)
    too_many = [Placed(place, wanted[0].token_id) for place in range(engine.facts.usable_context + 1)]
    with pytest.raises(ContextTooLarge, match=str(engine.facts.usable_context)):
        context.sync(too_many)
    assert context.tokens == wanted


def test_a_reply_comes_in_steps_of_which_only_the_last_has_a_reason(engine: Engine, context: EngineContext) -> None:
    context.sync(asked(engine, QUESTION))
    *earlier, last = reply(context)
    assert all(step.finish_reason is None and step.token_id is not None for step in earlier)
    assert last.finish_reason == "length"
    ids = [step.token_id for step in [*earlier, last] if step.token_id is not None]
    assert 1 <= len(ids) <= GREEDY.max_tokens
    assert text_of([*earlier, last])


def test_generated_tokens_stand_behind_the_context_at_the_given_positions(
    engine: Engine, context: EngineContext
) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    steps = list(context.generate(GREEDY, iter(range(1000, 2000, 10))))
    added = context.tokens[len(wanted) :]
    assert [token.position for token in added] == list(range(1000, 1000 + 10 * len(added), 10))
    ids = [step.token_id for step in steps if step.token_id is not None]
    assert [token.token_id for token in added] == ids[: len(added)]
    assert len(added) >= len(ids) - 1


def test_greedy_replies_are_always_the_same(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    first = text_of(reply(context))
    context.sync(wanted)
    assert text_of(reply(context)) == first


def test_the_same_seed_gives_the_same_text(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    settings = GenerationSettings(temperature=1.5, top_p=1, top_k=0, seed=1234, max_tokens=12)
    context.sync(wanted)
    first = text_of(reply(context, settings))
    context.sync(wanted)
    assert text_of(reply(context, settings)) == first


def test_attention_has_one_entry_per_context_token_and_sums_to_one(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    steps = [step for step in reply(context) if step.token_id is not None]
    if not engine.facts.abilities.attention.available:
        assert all(step.attention is None for step in steps)
        return
    for number, step in enumerate(steps):
        assert step.attention is not None
        assert step.attention.dtype == np.float32
        assert step.attention.shape == (len(wanted) + number,)
        assert abs(step.attention.sum() - 1) < 1e-3
        assert step.attention.min() >= 0


def test_no_attention_comes_from_a_context_that_was_opened_without(engine: Engine) -> None:
    context = engine.open_context(attention=None)
    context.sync(asked(engine, QUESTION))
    assert all(step.attention is None for step in reply(context))
    context.close()


def test_raw_attention_has_layers_and_heads(engine: Engine) -> None:
    if not engine.facts.abilities.attention.available:
        pytest.skip(engine.facts.abilities.attention.why_not)
    context = engine.open_context(attention=AttentionChoice(reduce="none"))
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    step = reply(context)[0]
    assert step.attention is not None
    assert step.attention.shape == (engine.facts.layers, engine.facts.heads, len(wanted))
    context.close()


def test_reading_can_be_observed(engine: Engine, context: EngineContext) -> None:
    if not engine.facts.abilities.attention.available:
        pytest.skip(engine.facts.abilities.attention.why_not)
    wanted = asked(engine, QUESTION)
    context.sync(wanted[:5])
    report = context.sync(wanted, observe=True)
    if report.reading is None and "resent" in type(context).__name__.lower():
        pytest.skip("a server without an editable context reads in secret")
    assert report.read is not None
    assert report.reading is not None
    assert report.reading.shape == (report.decoded, len(wanted))
    assert report.read[-1] == len(wanted) - 1
    for place, row in zip(report.read, report.reading, strict=True):
        assert abs(row.sum() - 1) < 1e-3
        assert np.all(row[place + 1 :] == 0)


def test_stop_strings_end_the_reply_and_are_not_shown(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    whole = text_of(reply(context))
    stop = whole[len(whole) // 2 :][:3]
    context.sync(wanted)
    steps = reply(context, GenerationSettings(temperature=0, max_tokens=12, stop=("never in any reply", stop)))
    assert steps[-1].finish_reason == "stop_string"
    assert text_of(steps) == whole[: whole.index(stop)]


def test_cancelling_from_another_thread_ends_the_reply(engine: Engine, context: EngineContext) -> None:
    context.sync(asked(engine, QUESTION))
    cancellation = Cancellation()
    steps = context.generate(GenerationSettings(temperature=0, max_tokens=500), cancellation=cancellation)
    shown = [next(steps)]
    stopper = threading.Thread(target=cancellation.cancel)
    stopper.start()
    stopper.join()
    shown.extend(steps)
    assert shown[-1].finish_reason == "stopped"
    assert len(shown) <= 3


def test_after_a_cancellation_the_context_goes_on(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    cancellation = Cancellation()
    steps = context.generate(GREEDY, cancellation=cancellation)
    next(steps)
    cancellation.cancel()
    list(steps)
    context.sync(wanted)
    assert reply(context)[-1].finish_reason == "length"


def cancelled() -> Cancellation:
    cancellation = Cancellation()
    cancellation.cancel()
    return cancellation


def test_a_sync_that_is_cancelled_before_it_begins_changes_nothing(engine: Engine, context: EngineContext) -> None:
    held = asked(engine, QUESTION)
    context.sync(held)
    for wanted in (held, held[:4], asked(engine, "Something else."), []):
        for clean in (False, True):
            with pytest.raises(EngineStopped):
                context.sync(wanted, clean=clean, cancellation=cancelled())
            assert context.tokens == held
    context.sync(held)
    assert reply(context)[-1].finish_reason == "length"


def reads_whole(
    context: EngineContext, wanted: list[Placed], cancellation: Cancellation, begins: threading.Barrier
) -> bool:
    begins.wait()
    try:
        context.sync(wanted, cancellation=cancellation)
    except EngineStopped:
        return False
    return True


def test_a_sync_that_is_cancelled_at_any_moment_is_whole_or_raises_and_the_next_one_works(
    engine: Engine, context: EngineContext
) -> None:
    """Whenever the cancellation comes, the next reply is the one that the context always gives."""
    short, long = asked(engine, QUESTION), asked(engine, QUESTION * 40)
    context.sync(short)
    expected = text_of(reply(context))
    for _ in range(3):
        context.sync([])
        cancellation, begins = Cancellation(), threading.Barrier(2)
        with ThreadPoolExecutor(1) as threads:
            reading = threads.submit(reads_whole, context, long, cancellation, begins)
            begins.wait()
            cancellation.cancel()
            assert not reading.result() or context.tokens == long
        # A cancellation between the calls of one turn is not lost: it stops the next call.
        with pytest.raises(EngineStopped):
            context.sync(short, cancellation=cancellation)
        context.sync(short, clean=True)
        assert text_of(reply(context)) == expected


def test_a_reply_that_is_cancelled_before_it_begins_is_empty(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    assert list(context.generate(GREEDY, cancellation=cancelled())) == [Step(None, "", None, "stopped")]
    assert context.tokens == wanted


def test_a_reply_that_is_cancelled_between_its_call_and_its_first_step_is_empty(
    engine: Engine, context: EngineContext
) -> None:
    context.sync(asked(engine, QUESTION))
    cancellation = Cancellation()
    steps = context.generate(GREEDY, cancellation=cancellation)
    cancellation.cancel()
    assert list(steps) == [Step(None, "", None, "stopped")]


def test_a_preview_that_is_cancelled_raises_and_leaves_the_context_as_it_was(
    engine: Engine, context: EngineContext
) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    with pytest.raises(EngineStopped):
        context.preview([token.id for token in engine.tokenize("Of course")], 6, cancellation=cancelled())
    assert context.tokens == wanted


def test_a_cancellation_after_the_call_touches_nothing(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    cancellation = Cancellation()
    context.sync(wanted, cancellation=cancellation)
    whole = text_of(list(context.generate(GREEDY, cancellation=cancellation)))
    cancellation.cancel()
    context.sync(wanted)
    assert text_of(reply(context)) == whole


def test_closing_a_context_ends_its_reply(engine: Engine) -> None:
    context = engine.open_context()
    context.sync(asked(engine, QUESTION))
    steps = context.generate(GenerationSettings(temperature=0, max_tokens=500))
    shown = [next(steps)]
    closer = threading.Thread(target=context.close)
    closer.start()
    closer.join()
    shown.extend(steps)
    assert shown[-1].finish_reason == "stopped"
    assert len(shown) <= 3


def test_a_preview_leaves_the_context_as_it_was(engine: Engine, context: EngineContext) -> None:
    wanted = asked(engine, QUESTION)
    context.sync(wanted)
    expected = text_of(reply(context))
    context.sync(wanted)
    preview = context.preview([token.id for token in engine.tokenize("Of course")], 6)
    assert len(preview) <= 6
    assert context.tokens == wanted
    assert text_of(reply(context)) == expected


def test_an_empty_context_cannot_be_continued(context: EngineContext) -> None:
    with pytest.raises(InputError, match="empty"):
        list(context.generate(GREEDY))


def test_contexts_of_one_engine_know_nothing_of_each_other(engine: Engine, context: EngineContext) -> None:
    other = engine.open_context()
    wanted, others = asked(engine, QUESTION), asked(engine, "What is two and two?")
    context.sync(wanted)
    other.sync(others)
    assert context.tokens == wanted
    assert other.tokens == others
    first = text_of(reply(context))
    other.sync([])
    other.close()
    context.sync(wanted)
    assert text_of(reply(context)) == first


def test_a_closed_context_says_so(engine: Engine) -> None:
    context = engine.open_context()
    context.close()
    context.close()
    with pytest.raises(EngineError, match="closed"):
        context.sync(asked(engine, "Hi"))
