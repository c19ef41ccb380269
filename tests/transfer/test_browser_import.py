"""Imports from the browser Halo Weave keep their numbers, or get new ones where those are taken."""

import gzip
import itertools
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from halo_weave.memory.store.protocol import Store
from halo_weave.transfer import Imported, export_memory, import_file
from support.folders import PROJECT
from support.made_up_chunks import written_turn
from support.transfer_memories import NOW, Row, all_chunks, assert_refused, state

PAST_64_BITS = 2**64 + 12345678901234567890
BROWSER_FILE = PROJECT.parent / "shared" / "data" / "halo-weave-export.json.gz"


def browser_tokens() -> list[Row]:
    """A system prompt, a question of two sentences, one of them pruned, an answer, and another question."""
    said = [
        (0, "system", 0, ["", "system", "\n", "Be kind."]),
        (1, "user", 0, ["Where", " do", " owls", " live?"]),
        (1, "user", 1, [" Tell", " me."]),
        (2, "assistant", 0, ["In", " hollow", " trees", ".\n"]),
        (2, "assistant", 1, ["And", " barns", "."]),
        (3, "user", 0, ["Thanks", "!"]),
    ]
    positions = itertools.count()
    return [
        {
            "token_id": 100 + place,
            "text": text,
            "position": next(positions),
            "brightness": 255 - place,
            "turn_id": turn,
            "role": role,
            "sentence_id": sentence,
            "deleted": (turn, sentence) == (1, 1),
        }
        | ({"brightness_at_deletion": -3} if (turn, sentence) == (1, 1) else {})
        for turn, role, sentence, texts in said
        for place, text in enumerate(texts)
    ]


def browser_export(tokens: list[Row], indent: int | None = None) -> bytes:
    stats = {"totalTokens": len(tokens), "turns": 4, "avgBrightness": 200.5}
    return json.dumps({"tokens": tokens, "stats": stats, "sentences": []}, indent=indent).encode()


def places(store: Store) -> list[tuple[str, int, str]]:
    return [(str(chunk.key), chunk.first_position, chunk.text) for chunk in all_chunks(store)]


@pytest.mark.parametrize(
    "content",
    [
        browser_export(browser_tokens()),
        browser_export(browser_tokens(), indent=2),
        gzip.compress(browser_export(browser_tokens())),
        browser_export(browser_tokens()[::-1]),
    ],
    ids=["plain", "indented", "gzip", "out of order"],
)
def test_a_browser_export_keeps_its_numbers_in_an_empty_memory(store: Store, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any name"
    path.write_bytes(content)
    imported = import_file(store, path)
    assert imported == Imported("browser", added=5, present=0, left_out_tokens=4, is_renumbered=False)
    assert places(store) == [
        ("1:0 (user)", 4, "Where do owls live?"),
        ("1:1 (user)", 8, " Tell me."),
        ("2:0 (assistant)", 10, "In hollow trees.\n"),
        ("2:1 (assistant)", 14, "And barns."),
        ("3:0 (user)", 17, "Thanks!"),
    ]
    assert not any(chunk.deleted for chunk in all_chunks(store))
    assert all_chunks(store)[0].token_ids.tolist() == [100, 101, 102, 103]
    assert store.search_words(["kind"], 5) == []
    assert store.reserve(1).position_start >= 19
    assert store.verify() == []


def test_a_browser_export_gets_new_numbers_where_its_own_are_taken(store: Store, tmp_path: Path) -> None:
    mine = written_turn(store, count=30)
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    imported = import_file(store, tmp_path / "browser.json")
    assert imported == Imported("browser", added=5, present=0, left_out_tokens=4, is_renumbered=True)
    assert all_chunks(store)[:1] == mine
    assert places(store)[1:] == [
        ("3:0 (user)", 30, "Where do owls live?"),
        ("3:1 (user)", 34, " Tell me."),
        ("4:0 (assistant)", 36, "In hollow trees.\n"),
        ("4:1 (assistant)", 40, "And barns."),
        ("5:0 (user)", 43, "Thanks!"),
    ]
    assert store.verify() == []


def test_an_answer_without_its_question_gets_a_pair_of_its_own(store: Store, tmp_path: Path) -> None:
    written_turn(store)
    tokens = [token for token in browser_tokens() if token["turn_id"] >= 2]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    import_file(store, tmp_path / "browser.json")
    assert [place[0] for place in places(store)[1:]] == ["4:0 (assistant)", "4:1 (assistant)", "5:0 (user)"]


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_same_browser_conversation_twice_adds_nothing(store: Store, tmp_path: Path, is_empty: bool) -> None:
    if not is_empty:
        written_turn(store, count=30)
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json")
    store.delete([all_chunks(store)[-1].key], "test")
    before = state(store)
    later = [token | {"brightness": 9, "deleted": not token["deleted"]} for token in browser_tokens()]
    (tmp_path / "later.json.gz").write_bytes(gzip.compress(browser_export(later, indent=1)))
    for name in ("browser.json", "later.json.gz"):
        assert import_file(store, tmp_path / name) == Imported("browser", added=0, present=5, left_out_tokens=4)
    assert state(store) == before


def test_a_browser_conversation_is_known_again_after_a_journey(store: Store, other: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json")
    export_memory(store, tmp_path / "memory.jsonl")
    import_file(other, tmp_path / "memory.jsonl")
    assert import_file(other, tmp_path / "browser.json").added == 0


def test_a_sentence_with_a_gap_becomes_two_chunks(store: Store, tmp_path: Path) -> None:
    tokens = [token for token in browser_tokens() if token["position"] != 6]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    import_file(store, tmp_path / "browser.json")
    assert places(store)[:3] == [
        ("1:0 (user)", 4, "Where do"),
        ("1:1 (user)", 7, " live?"),
        ("1:2 (user)", 8, " Tell me."),
    ]


def test_browser_chunks_have_the_time_of_the_file_but_never_one_to_come(store: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json", now=NOW - timedelta(days=10_000))
    assert {chunk.time for chunk in all_chunks(store)} == {NOW - timedelta(days=10_000)}


def test_a_browser_export_past_64_bits_keeps_its_order(store: Store, tmp_path: Path) -> None:
    tokens = [
        token | {"position": token["position"] + PAST_64_BITS, "turn_id": token["turn_id"] + PAST_64_BITS}
        for token in browser_tokens()
    ]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    imported = import_file(store, tmp_path / "browser.json")
    assert imported.is_renumbered
    assert imported.renumbering_in_words().endswith("because theirs are far from those in use")
    assert "".join(chunk.text for chunk in all_chunks(store)).endswith("And barns.Thanks!")


def test_a_browser_export_of_a_system_prompt_alone_adds_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()[:4]))
    before = state(store)
    assert import_file(store, tmp_path / "browser.json") == Imported("browser", 0, 0, left_out_tokens=4)
    assert state(store) == before


def spoiled(**changed: Any) -> bytes:
    tokens = browser_tokens()
    tokens[-1] |= changed
    return browser_export(tokens)


@pytest.mark.parametrize(
    "content",
    [
        spoiled(position=3),
        spoiled(position="18"),
        spoiled(position=-1),
        spoiled(position=18.0),
        spoiled(position=float("nan")),
        spoiled(turn_id=None),
        spoiled(turn_id=-3),
        spoiled(sentence_id=-1),
        spoiled(role="tool"),
        spoiled(token_id=-1),
        spoiled(token_id=2**31),
        spoiled(text=5),
        spoiled(position=0) + b"more",
        browser_export(browser_tokens())[:-20],
        b'{"tokens": {}}',
        b'{"tokens": [[]]}',
        b'{"tokens": [1]}',
    ],
)
def test_a_bad_browser_export_is_refused_in_one_sentence(untouched: Store, tmp_path: Path, content: bytes) -> None:
    assert_refused(untouched, tmp_path / "bad", content)


@pytest.mark.skipif(not BROWSER_FILE.exists(), reason="the browser's export is not beside the checkout")
def test_a_real_browser_export_comes_in_whole(store: Store, other: Store, tmp_path: Path) -> None:
    tokens = [token for token in json.loads(gzip.decompress(BROWSER_FILE.read_bytes()))["tokens"] if token["turn_id"]]
    imported = import_file(store, BROWSER_FILE)
    assert (imported.added, imported.left_out_tokens, imported.is_renumbered) == (212, 12, False)
    placed = store.tokens_by_positions(range(5000))
    assert [(one.position, one.token_id, one.text, one.key.turn, one.key.role) for one in placed] == [
        (token["position"], token["token_id"], token["text"], token["turn_id"], token["role"]) for token in tokens
    ]
    assert import_file(store, BROWSER_FILE).added == 0
    export_memory(store, tmp_path / "memory.jsonl.gz")
    import_file(other, tmp_path / "memory.jsonl.gz")
    assert all_chunks(other) == all_chunks(store)
    assert store.verify() == []


def test_half_a_character_becomes_the_sign_for_an_unknown_one(store: Store, tmp_path: Path) -> None:
    """Complete surrogate pairs stay, and a literal backslash is not an escape."""
    [token] = [{**browser_tokens()[4], "text": "half \ud83d, whole \U0001f600, written \\ud83d"}]
    (tmp_path / "export.json").write_bytes(browser_export([token]))
    import_file(store, tmp_path / "export.json", now=NOW)
    assert [chunk.text for chunk in all_chunks(store)] == ["half \ufffd, whole \U0001f600, written \\ud83d"]
