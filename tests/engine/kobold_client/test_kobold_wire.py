"""Messages between a Kobold client and server: nothing is lost, and nothing invalid is accepted."""

import base64
import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.kobold_client.reply_events import DoneSeen, PieceSeen, TokenSeen, UnreadableEvent, read_event
from halo_weave.engine.kobold_client.vocabulary import spread_text
from halo_weave.engine.kobold_protocol.attention_codec import (
    UnusableAttention,
    decode_array,
    decode_attention,
    encode_attention,
)
from halo_weave.engine.kobold_protocol.edit_script import apply_script, runs_of, script_between, tokens_of
from halo_weave.engine.kobold_protocol.wire import (
    GenerateRequest,
    ModelInfo,
    SyncRequest,
    facts_of,
    info_of,
    sampling_fields,
)
from halo_weave.engine.protocol import Ability, Attention, AttentionChoice, GenerationSettings, Placed
from halo_weave.errors import InputError

contexts = st.lists(
    st.tuples(st.integers(0, 60) | st.integers(2**64, 2**64 + 20), st.integers(0, 5)), unique_by=lambda pair: pair[0]
).map(lambda pairs: [Placed(*pair) for pair in sorted(pairs)])


def shares(*values: float) -> Attention:
    return np.array(values, dtype=np.float32)


def payload(attention: Attention, **changes: object) -> dict[str, object]:
    return {**msgspec.to_builtins(encode_attention(attention)), **changes}


def reason_against(sent: object, tokens: int = 2, choice: AttentionChoice | None = None) -> str:
    with pytest.raises(UnusableAttention) as refusal:
        decode_attention(sent, tokens, choice or AttentionChoice(), is_chosen=False)
    return refusal.value.reason


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_every_row_arrives_bit_for_bit(values: list[float]) -> None:
    row = np.array(values, dtype=np.float32)
    assert decode_array(payload(row)).tobytes() == row.tobytes()


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 8))
def test_rows_of_layers_and_heads_arrive_in_their_shape(layers: int, heads: int, tokens: int) -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(tokens), (layers, heads)).astype(np.float32)
    whole = decode_attention(payload(rows), tokens, AttentionChoice(reduce="none"), is_chosen=False)
    np.testing.assert_array_equal(whole, rows)
    mean = decode_attention(payload(rows), tokens, AttentionChoice(), is_chosen=False)
    np.testing.assert_allclose(mean, rows.mean(axis=(0, 1)), rtol=1e-5)


def test_layers_and_heads_are_chosen_by_the_reader() -> None:
    rows = np.zeros((2, 2, 2), dtype=np.float32)
    rows[:, :, 0] = 1
    rows[1, 0] = (0.25, 0.75)
    chosen = decode_attention(payload(rows), 2, AttentionChoice(layers=(1,), heads=(0,)), is_chosen=False)
    np.testing.assert_array_equal(chosen, [0.25, 0.75])
    largest = decode_attention(payload(rows), 2, AttentionChoice(reduce="max"), is_chosen=False)
    np.testing.assert_allclose(largest, np.array([1, 0.75]) / 1.75, rtol=1e-6)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (None, "missing"),
        ("nonsense", "malformed"),
        ({"format": "aggregated"}, "malformed"),
        (payload(shares(0.5, 0.5), encoding="hex"), "encoding"),
        (payload(shares(0.5, 0.5), dtype="float16"), "dtype"),
        (payload(shares(0.5, 0.5), data="!!!"), "base64"),
        (payload(shares(0.5, 0.5), data="AAA"), "base64"),
        (payload(shares(0.5, 0.5), data=base64.b64encode(b"abc").decode()), "shape"),
        (payload(shares(0.5, 0.5), shape=[-1, -2]), "shape"),
        (payload(shares(0.5, 0.5), shape=[1, 2]), "shape"),
        (payload(shares(0.2, 0.3, 0.5)), "length"),
        (payload(shares(math.nan, 0.5)), "not_finite"),
        (payload(shares(math.inf, 0.5)), "not_finite"),
        (payload(shares(-0.5, 1.5)), "negative"),
        (payload(shares(3.0, 4.0)), "unnormalised"),
        (payload(shares(0.0, 0.0)), "unnormalised"),
    ],
)
def test_unfit_attention_is_refused_with_its_reason(sent: object, reason: str) -> None:
    assert reason_against(sent) == reason


def test_a_choice_of_layers_cannot_be_made_from_one_row() -> None:
    assert reason_against(payload(shares(0.5, 0.5)), choice=AttentionChoice(layers=(0,))) == "format"
    assert reason_against(payload(np.full((1, 1, 2), 0.5, np.float32)), choice=AttentionChoice(layers=(7,))) == "shape"


@given(contexts, contexts)
def test_a_script_applied_to_the_old_context_gives_the_new_one(old: list[Placed], new: list[Placed]) -> None:
    request = SyncRequest("id", 1, script_between(old, new))
    travelled = msgspec.json.decode(msgspec.json.encode(request), type=SyncRequest)
    assert travelled.edits is not None
    assert apply_script(old, travelled.edits) == new


@given(contexts)
def test_runs_hold_all_tokens_of_a_context(tokens: list[Placed]) -> None:
    assert tokens_of(runs_of(tokens)) == tokens


def test_a_long_context_of_consecutive_positions_is_one_run() -> None:
    assert len(runs_of([Placed(10**30 + index, 7) for index in range(4000)])) == 1


def test_an_unchanged_context_needs_no_edits() -> None:
    tokens = [Placed(1, 2), Placed(3, 4)]
    assert script_between(tokens, tokens) == []


@pytest.mark.parametrize("edits", [[(3, 0, [])], [(0, 3, [])], [(0, -1, [])], [(1, 1, []), (0, 1, [])]])
def test_a_script_that_does_not_fit_is_refused(edits: list[tuple[int, int, list[tuple[str, list[int]]]]]) -> None:
    with pytest.raises(InputError, match="does not fit"):
        apply_script([Placed(1, 1), Placed(2, 2)], edits)


@pytest.mark.parametrize("position", ["", "-1", "1.5", "x", "٣", "9" * 5000])
def test_a_position_must_be_digits(position: str) -> None:
    with pytest.raises(InputError, match="position"):
        tokens_of([(position, [1])])


def test_each_kind_of_event_is_recognised() -> None:
    token = read_event(b'{"type":"token","token":{"token_id":5,"text":"a"},"attention":{"anything":1}}')
    assert isinstance(token, TokenSeen)
    assert (token.token.token_id, token.attention) == (5, {"anything": 1})
    assert read_event(b'{"token":"a","finish_reason":null}') == PieceSeen("a", None)
    assert read_event(b'{"type":"done","finish_reason":"stop","total_tokens":3}') == DoneSeen("stop", None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "bad_json"),
        (b'{"token":"\xff"}', "bad_json"),
        (b"[DONE]", "malformed"),
        (b"[1]", "malformed"),
        (b'{"type":"token","token":{"text":"a"}}', "malformed"),
        (b'{"type":"token"}', "malformed"),
        (b'{"type":"weather"}', "unknown_type"),
        (b"{}", "unknown_type"),
    ],
)
def test_an_event_that_cannot_be_read_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableEvent) as refusal:
        read_event(data)
    assert refusal.value.reason == reason


def test_a_models_facts_survive_the_journey() -> None:
    facts = EchoEngine().facts
    info = msgspec.json.decode(msgspec.json.encode(info_of(facts)), type=ModelInfo)
    assert facts_of(info, context=0, attention=Ability(False)) == facts


def test_sampling_survives_the_journey_under_stock_names() -> None:
    settings = GenerationSettings(0.1, 0.2, 3, 0.4, 1.5, 0.8, 6, 7, ("stop",))
    assert msgspec.convert(sampling_fields(settings), GenerateRequest).settings() == settings
    assert GenerateRequest(sampler_seed=-1).settings().seed is None


@pytest.mark.parametrize(
    ("field", "fits", "does_not"),
    [
        ("max_length", [1, 1_000_000], [0, 1_000_001]),
        ("temperature", [0, 5], [-0.1, 5.1]),
        ("top_p", [0.01, 1], [0, 1.1]),
        ("top_k", [0, 1_000_000], [-1, 1_000_001]),
        ("min_p", [0, 1], [-0.1, 1.1]),
        ("rep_pen", [0.01, 10], [0, 10.1]),
        ("dry_multiplier", [0, 10], [-0.1, 10.1]),
        ("sampler_seed", [None, -5, 0, 2**32 - 2], [2**32 - 1]),
    ],
)
def test_sampling_out_of_range_is_refused_by_the_name_it_was_sent_under(
    field: str, fits: list[object], does_not: list[object]
) -> None:
    for value in fits:
        msgspec.convert({field: value}, GenerateRequest)
    for value in does_not:
        with pytest.raises(msgspec.ValidationError, match=rf"\$\.{field}"):
            msgspec.convert({field: value}, GenerateRequest)


@given(st.text(max_size=20), st.lists(st.text(max_size=3), min_size=1, max_size=8))
def test_spread_text_loses_nothing_whatever_the_pieces(text: str, pieces: list[str]) -> None:
    parts = spread_text(text, pieces)
    assert "".join(parts) == text
    assert len(parts) == len(pieces)


@pytest.mark.parametrize(
    ("text", "pieces", "parts"),
    [
        ("Hello you", [" Hello", " you"], ["Hello", " you"]),
        ("a🎉b", ["a", "\ufffd", "\ufffd", "b"], ["a", "", "🎉", "b"]),
        ("whole text", ["", "", ""], ["", "", "whole text"]),
        ("ab", ["a", "b"], ["a", "b"]),
    ],
)
def test_spread_text_gives_pieces_their_own_text(text: str, pieces: Sequence[str], parts: list[str]) -> None:
    assert spread_text(text, pieces) == parts
