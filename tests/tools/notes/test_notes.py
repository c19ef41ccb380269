"""The notes: changes and refusals, the report of a change, and undoing it."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.errors import HaloError, InputError, StoreConflict
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.notes import DEFAULT_DOCUMENT
from halo_weave.text.plain_or_json import is_plain_text
from halo_weave.tools.jq.process import JqProcess
from halo_weave.tools.notes.changes import Change, changes, decoded, in_words, plain
from halo_weave.tools.notes.notes import (
    GONE,
    LARGEST_DOCUMENT_BYTES,
    LARGEST_TEXT,
    REPLACE,
    Notes,
    NotesChange,
    plain_text_of,
)
from support.made_up_chunks import TIME, ticking_clock

ORIGIN = "test"


SHARED_JQ = JqProcess()


@pytest.fixture(autouse=True, scope="module")
def jq() -> Iterator[JqProcess]:
    yield SHARED_JQ
    SHARED_JQ.close()


@pytest.fixture
def notes(store: Store, jq: JqProcess) -> Notes:
    return Notes(store, jq, ticking_clock())


def document(notes: Notes) -> dict[str, Any]:
    """Return the document without the program's own part."""
    value: dict[str, Any] = json.loads(notes.read().document)
    value.pop("_metadata", None)
    return value


EMPTY: dict[str, Any] = {"topics": {}, "reminders": [], "context": {}, "scratch": {}}


@pytest.mark.parametrize(
    ("filter_text", "told"),
    [
        ('.context.name = "Ann"', [(".context.name", "Ann")]),
        ('.reminders += ["x"]', [(".reminders", ["x"])]),
        ('. + {"new": "field"}', [(".new", "field")]),
        ("del(.scratch)", [(".scratch", GONE)]),
        ('.topics = {"a": 1, "b": {"c": null}}', [(".topics.a", 1), (".topics.b", {"c": None})]),
        ('.topics["two words"].x[1] = 2.5', [('.topics["two words"]', {"x": [None, 2.5]})]),
        ('.["odd \\" key"] = true', [('.["odd \\" key"]', True)]),
        ('{"all": "else"}', [(".all", "else"), *((f".{name}", GONE) for name in ("_metadata", *EMPTY))]),
        ("to_entries|from_entries", []),
        (".", []),
        ('._metadata.last_modified = "never"', []),
    ],
)
def test_a_filter_that_gives_one_object_changes_the_notes_and_tells_what(
    notes: Notes, filter_text: str, told: list[tuple[str, Any]]
) -> None:
    change = notes.patch(filter_text, ORIGIN)
    assert change.changes == told
    assert change.version == notes.read().version == (1 if told else 0)
    if told:
        record = notes.read()
        assert (record.origin, record.command, record.time) == (ORIGIN, filter_text, TIME + timedelta(microseconds=1))


@pytest.mark.parametrize(
    ("filter_text", "reason"),
    [
        (
            ".topics, .context",
            "The filter returned 2 results, but the notes must be exactly one object; nothing was changed.",
        ),
        ("empty", "The filter returned no results, but the notes must be exactly one object; nothing was changed."),
        ("halt", "The filter returned no results, but the notes must be exactly one object; nothing was changed."),
        (".reminders", "The filter returned an array, but the notes must be one object; nothing was changed."),
        ("1", "The filter returned a number, but the notes must be one object; nothing was changed."),
        ("-1.5", "The filter returned a number, but the notes must be one object; nothing was changed."),
        ('"text"', "The filter returned a string, but the notes must be one object; nothing was changed."),
        ("null", "The filter returned null, but the notes must be one object; nothing was changed."),
        (".topics = 1 |", "jq reports: syntax error, unexpected end of file."),
        ('.topics + "x"', "jq reports: object ({}) and string"),
        ('.scratch.x = ("x" * 262144)', "The notes would exceed the limit of 256 KB;"),
        ("until(false; .)", "The filter took longer than 2 s and was stopped."),
        ('.scratch = reduce range(101) as $i (0; {"a": .})', "The notes may not be nested more than 100 levels deep"),
        (".scratch = reduce range(20000) as $i (0; [.])", "The notes may not be n"),
        ('.scratch["a\0"] = 1', "The filter contains a NUL character"),
    ],
)
def test_anything_else_is_refused_in_one_sentence_and_changes_nothing(
    notes: Notes, filter_text: str, reason: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(reason)}"):
        notes.patch(filter_text, ORIGIN)
    assert (notes.read().version, notes.history()) == (0, [])


def test_any_filter_reads(notes: Notes) -> None:
    notes.patch('.topics.cat = "Mia" | .reminders = [1, 2.5, 100000000000000000001]', ORIGIN)
    assert notes.query(".topics, .reminders[], (.missing|not)") == [
        {"cat": "Mia"}, 1, 2.5, 100000000000000000001, True
    ]  # fmt: skip
    assert notes.query_texts(".reminders") == ["[1,2.5,100000000000000000001]"]
    assert notes.query("empty") == []
    assert notes.read().version == 1


def test_what_is_nested_too_deeply_is_not_answered(notes: Notes) -> None:
    for ask in (notes.query, notes.query_texts):
        with pytest.raises(InputError, match=r"not valid JSON|nested more than 100"):
            ask("reduce range(20000) as $i (0; [.])")


def test_the_document_may_be_as_large_as_its_limit(notes: Notes) -> None:
    notes.patch('.scratch.x = ""', ORIGIN)
    room = LARGEST_DOCUMENT_BYTES - len(notes.read().document.encode())
    notes.patch(f'.scratch.x = ("x" * {room})', ORIGIN)
    assert len(notes.read().document.encode()) == LARGEST_DOCUMENT_BYTES
    with pytest.raises(InputError, match="256 KB"):
        notes.patch('.scratch.x += "x"', ORIGIN)
    assert notes.query(".scratch.x|length") == [room]
    assert notes.patch("del(.scratch.x)", ORIGIN).changes == [(".scratch.x", GONE)]


def test_the_notes_say_when_they_were_begun_and_last_changed(notes: Notes) -> None:
    notes.patch(".topics.a = 1", ORIGIN)
    notes.patch(".topics.a = 2", ORIGIN)
    times = [f"{TIME + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}" for seconds in (0, 1)]
    assert notes.query("._metadata|.created, .last_modified") == times
    notes.patch("del(._metadata)", ORIGIN)
    assert notes.query("._metadata") == [None]
    notes.patch('.topics.a = 3 | ._metadata = "mine"', ORIGIN)
    assert notes.query("._metadata") == ["mine"]


def test_another_document_takes_the_place_of_the_notes(notes: Notes) -> None:
    change = notes.replace('{"topics": {},\n "reminders": [3.14159265358979323846264338, 1.10]}', 0, "page")
    assert change.version == 1
    assert [path for path, value in change.changes if value is GONE] == ["._metadata", ".context", ".scratch"]
    assert notes.read().document == '{"topics":{},"reminders":[3.14159265358979323846264338,1.10]}'
    assert (notes.read().origin, notes.read().command) == ("page", REPLACE)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=50))
def test_plain_text_becomes_a_field_and_is_given_back_as_it_was(text: str) -> None:
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "halo.db")) as store:
        notes = Notes(store, SHARED_JQ, ticking_clock())
        if is_plain_text(text):
            notes.replace(text, 0, "page")
            assert plain_text_of(notes.read().document) == text
            assert decoded(notes.read().document)["_metadata"]["created"]
        else:
            assert plain_text_of(notes.read().document) is None


def test_notes_with_anything_else_are_not_plain_text(notes: Notes) -> None:
    for version, document in enumerate(('{"text": "a", "b": 1}', '{"text": 1}', '{"text": "{}"}', "{}")):
        notes.replace(document, version, "page")
        assert plain_text_of(notes.read().document) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON: Expecting value at line 1, column 1"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": 1} {"b": 2}', "not valid JSON: Extra data at line 1, column 10"),
        ('{"a":\n nul}', "not valid JSON: Expecting value at line 2, column 2"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": "\\ud83d"}', "an unpaired surrogate"),
        ('{"a": "\ud83d"}', "an unpaired surrogate"),
        ("[1]", "one JSON object"),
        ("null", "one JSON object"),
        ("[" * 100_000, "nested more than 100"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested more than 100"),
        ('{"a": "' + "x" * LARGEST_DOCUMENT_BYTES + '"}', "limit of 256 KB"),
        (" " * LARGEST_TEXT + "{}", "limit of 256 KB"),
    ],
)
def test_a_document_that_is_not_one_object_is_refused(notes: Notes, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        notes.replace(text, 0, ORIGIN)
    assert notes.read().version == 0


def test_hostile_contents_are_kept_as_they_are(notes: Notes) -> None:
    hostile = {"<script>": "\0 \x1b[31m ‮ ' \" \\ </script>", "": [{}], "𝄞\u2028": "ä" * 5, "__proto__": {"x": 1}}
    notes.replace(json.dumps(hostile), 0, ORIGIN)
    assert json.loads(notes.read().document) == hostile
    assert notes.query(".") == [hostile]


def test_undo_goes_back_step_by_step_and_writes_new_versions(notes: Notes) -> None:
    for number in (1, 2, 3):
        notes.patch(f".topics.n = {number}", ORIGIN)
    documents = [notes.version(version).document for version in range(4)]
    change = notes.undo("page")
    assert (change.version, change.changes) == (4, [(".topics.n", 2)])
    assert (notes.read().document, notes.read().origin, notes.read().command) == (documents[2], "page", "undo 2")
    assert notes.undo(ORIGIN).changes == [(".topics.n", 1)]
    assert notes.undo(ORIGIN).changes == [(".topics.n", GONE)]
    assert notes.read().document == DEFAULT_DOCUMENT
    with pytest.raises(InputError, match="no change to the notes to undo"):
        notes.undo(ORIGIN)
    assert [notes.version(version).document for version in range(4)] == documents
    assert [outline.command for outline in notes.history()][:3] == ["undo 0", "undo 1", "undo 2"]


def test_what_was_changed_after_an_undo_is_undone_first_and_then_what_was_before_it(notes: Notes) -> None:
    for number in (1, 2):
        notes.patch(f".topics.n = {number}", ORIGIN)
    notes.undo(ORIGIN)
    notes.patch(".topics.n = 3", ORIGIN)
    seen = [notes.undo(ORIGIN).changes for _ in range(2)]
    assert seen == [[(".topics.n", 1)], [(".topics.n", GONE)]]


def test_an_undo_is_taken_back_by_restoring_and_restoring_by_undo(notes: Notes) -> None:
    notes.patch(".topics.n = 1", ORIGIN)
    notes.undo(ORIGIN)
    assert notes.restore(1, ORIGIN).changes == [(".topics.n", 1)]
    assert notes.read().document == notes.version(1).document
    assert notes.undo(ORIGIN).changes == [(".topics.n", GONE)]
    with pytest.raises(InputError, match="no version 9"):
        notes.restore(9, ORIGIN)


def test_a_writer_that_expects_another_version_meets_a_conflict(notes: Notes, store: Store, jq: JqProcess) -> None:
    other = Notes(store, jq)
    other.patch(".topics.a = 1", ORIGIN)
    before = notes.read()
    attempts: list[Callable[[], NotesChange]] = [
        lambda: notes.replace("{}", 0, ORIGIN),
        lambda: notes.patch(".topics.a = 2", ORIGIN, 0),
        lambda: notes.undo(ORIGIN, 0),
        lambda: notes.restore(0, ORIGIN, 0),
    ]
    for attempt in attempts:
        with pytest.raises(StoreConflict, match="at version 1, not 0: they were changed in the meantime"):
            attempt()
    assert notes.read() == before


def test_a_filter_is_run_again_on_what_somebody_else_made_of_the_notes(store: Store, jq: JqProcess) -> None:
    """Six threads add to one list and one number; nothing is lost."""

    def write(number: int) -> None:
        notes = Notes(store, jq)
        for _ in range(4):
            notes.patch(f".scratch.n += 1 | .reminders += [{number}]", ORIGIN)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = Notes(store, jq)
    assert notes.query(".scratch.n, (.reminders|sort)") == [24, sorted([*range(6)] * 4)]
    assert notes.read().version == 24


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": [1]}, {"a": [1, 2, 3]}, [(".a[1]", 2), (".a[2]", 3)]),
        ({"a": [1, 2]}, {"a": [1, 5]}, [(".a[1]", 5)]),
        ({"a": [1, 2]}, {"a": [2]}, [(".a", [2])]),
        ({"a": [1, 2]}, {"a": [3, 4, 5]}, [(".a", [3, 4, 5])]),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, [(".a[0].c", GONE)]),
        ({"a": {}}, {"a": []}, [(".a", [])]),
        ({"a": 1}, {"a": "1"}, [(".a", "1")]),
        ({"a": True}, {"a": 1}, [(".a", 1)]),
        ({"a": None}, {}, [(".a", GONE)]),
        ({}, {"a": None}, [(".a", None)]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ],
)
def test_only_the_paths_that_changed_are_told(before: Any, after: Any, told: list[tuple[str, Any]]) -> None:
    assert changes(decoded(json.dumps(before)), decoded(json.dumps(after))) == told


def test_a_change_in_words_is_short() -> None:
    assert in_words([Change(".a.b", "x"), Change(".c", GONE)]) == '.a.b = "x"; .c deleted'
    assert in_words([]) == "nothing changed"
    long = in_words([Change(f".{'k' * 1000}{number}", ["v" * 1000]) for number in range(100)])
    assert len(long) <= 400
    assert in_words([Change(".a", number) for number in range(9)]).endswith("; and 1 more")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=3), values, max_size=4), st.dictionaries(st.text(max_size=3), values, max_size=4)
)
def test_changes_carried_out_make_the_new_document_of_the_old_one(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    old, new = json.dumps(before), json.dumps(after)
    told = changes(decoded(old), decoded(new))
    program = " | ".join(
        f"del({path})" if value is GONE else f"{path} = {json.dumps(value)}" for path, value in reversed(told)
    )
    (made,) = SHARED_JQ.run(program or ".", old)
    assert plain(made) == after


names = st.sampled_from(["topics", "reminders", "context", "scratch", "_metadata", "new", 'odd " name'])
small = st.sampled_from(["1", '"x"', "null", "[]", "{}", '{"a": [1.50]}', "[1, 2]", "1e400"])
actions = st.one_of(
    st.builds(lambda name, value: ("patch", f".[{json.dumps(name)}] = {value}"), names, small),
    st.builds(lambda name, value: ("patch", f".[{json.dumps(name)}].k = {value}"), names, small),
    st.builds(lambda name, value: ("patch", f".[{json.dumps(name)}] += {value}"), names, small),
    st.builds(lambda name: ("patch", f"del(.[{json.dumps(name)}])"), names),
    st.sampled_from([("patch", "."), ("patch", ".topics"), ("patch", ". * ."), ("patch", "empty"), ("patch", ".[")]),
    st.builds(lambda name, value: ("replace", f"{{{json.dumps(name)}: {value}}}"), names, small),
    st.just(("undo", "")),
    st.builds(lambda version: ("restore", str(version)), st.integers(0, 6)),
)


@settings(max_examples=40)
@given(st.lists(actions, max_size=12))
def test_the_history_replays_to_the_document(steps: list[tuple[str, str]]) -> None:
    """After any changes, each version is its command applied to the previous one, and verify finds nothing wrong."""
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "halo.db")) as store:
        notes = Notes(store, SHARED_JQ, ticking_clock())
        for kind, text in steps:
            version, before = notes.read().version, notes.read()
            try:
                if kind == "patch":
                    notes.patch(text, ORIGIN)
                elif kind == "replace":
                    notes.replace(text, version, ORIGIN)
                elif kind == "undo":
                    notes.undo(ORIGIN)
                else:
                    notes.restore(int(text), ORIGIN)
            except HaloError:
                assert notes.read() == before
        with closing(SqliteStore(Path(folder) / "replayed.db")) as other:
            for outline in reversed(notes.history(limit=1000)):
                replay(notes, outline.version, other)
                assert other.notes().document == notes.version(outline.version).document
            assert other.notes().document == notes.read().document
        assert store.verify() == []


def replay(notes: Notes, version: int, other: Store) -> None:
    """Run the command of a version on another memory that has the previous version."""
    record = notes.version(version)
    replayed = Notes(other, SHARED_JQ, lambda: record.time)
    if record.command == REPLACE:
        replayed.replace(record.document, version - 1, ORIGIN)
    elif again := re.fullmatch(r"(?:undo|restore) (\d+)", record.command):
        replayed.restore(int(again[1]), ORIGIN)
    else:
        replayed.patch(record.command, ORIGIN)
    assert other.notes().version == version
