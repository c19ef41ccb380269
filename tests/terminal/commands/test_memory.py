"""The `memory` commands: their output, their exit codes, and what they leave."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from halo_weave import cli
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedders.minilm import NAME as MINILM
from halo_weave.memory.memory import open_memory
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import ChunkKey
from halo_weave.terminal.progress import ProgressLine, progress_in_words
from support.conversations import written
from support.servers.embedding_servers import EMBEDDINGS, embedding_server, embeds
from support.servers.loopback_server import Answer, Body, LoopbackServer
from support.transfer_memories import lived_in

CATS = ("what do cats like to eat\nand to drink", "cats like fish most of all\nand fresh water")
SHIPS = ("how do ships float", "they displace as much water as they weigh")
LARGE = 2**64 + 5
MEMORY_COMMANDS = (
    "stats", "search", "show", "delete", "undelete", "reembed", "backup", "verify", "repair", "damaged", "clear",
    "forget",
)  # fmt: skip
ONE_TURN = ["show", "delete", "undelete", "forget"]


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("HALO_MEMORY_PATH", str(tmp_path / "halo.db"))
    return tmp_path / "halo.db"


@pytest.fixture
def two_exchanges(path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, CATS, SHIPS))


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        yield store


class Shown:
    """The output of a command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def after(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        assert cli.main(list(arguments)) == code, self._capsys.readouterr().err
        shown = self._capsys.readouterr()
        return shown.out, shown.err

    def out(self, *arguments: str) -> str:
        return self.after(*arguments)[0]

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.after(*arguments, "--json", code=code)[0])


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    return Shown(capsys)


def types(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Typed(text))


def test_stats_of_a_memory_that_is_not_there_are_zero_and_make_no_file(shown: Shown, path: Path) -> None:
    out = shown.out("memory", "stats")
    assert f"{path} (does not exist yet)" in out
    stats = shown.json("memory", "stats")
    assert (stats["exists"], stats["chunks"], stats["next_turn"], stats["vectors"]) == (False, 0, "1", {})
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["memory", "search", "x"],
        *(["memory", command, "1"] for command in ONE_TURN),
        ["memory", "reembed"],
        ["memory", "backup", "copy.db"],
        ["memory", "verify"],
        ["memory", "clear", "--yes"],
        ["export", "memory.jsonl"],
    ],
    ids=" ".join,
)
def test_a_memory_that_is_not_there_is_said_in_one_sentence_and_not_made(
    shown: Shown, path: Path, arguments: list[str]
) -> None:
    out, err = shown.after(*arguments, code=1)
    assert (out, err.count("\n")) == ("", 1)
    assert f"No memory found at {path};" in err
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["memory", "dance"], "invalid choice: 'dance'"),
        (["memory", "show"], "TURN[:CHUNK]"),
        (["memory", "search"], "TEXT"),
        (["memory", "search", "x", "--limit", "0"], "'0' is not a whole number from 1 to 1000"),
        (["memory", "search", "x", "--mmr", "2"], "'2' is not a number from 0 to 1"),
        (["memory", "search", "x", "--mmr", "nan"], "'nan' is not a number from 0 to 1"),
        (["memory", "search", "x", "--role", "dog"], "invalid choice: 'dog'"),
        (["memory", "search", "x", "--since", "soon"], "'soon' is not a date or time"),
        (["memory", "reembed", "--embedder", "magic"], "embedder.kind from the command line is 'magic'"),
        (["import", "/no/such/file"], "/no/such/file"),
        *(
            (["memory", command, address], f"'{address}' is not a turn or chunk")
            for command in ONE_TURN
            for address in ("1:", ":1", "one", "1:0:0", "01", "1.5", "1 x")
        ),
        *((["memory", command, "99"], "There is no turn 99 in the memory") for command in ONE_TURN),
        *((["memory", command, "1:9"], "There is no chunk 1:9 in the memory") for command in ONE_TURN),
        *((["memory", command, "9" * 5000], "There is no turn 999") for command in ONE_TURN),
        (["memory", "clear"], "Confirmation is required"),
        (["memory", "forget", "1"], "Confirmation is required"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_arguments_are_one_sentence_with_code_2_and_change_nothing(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, path: Path, arguments: list[str], complaint: str
) -> None:
    with closing(open_memory(path)) as memory:
        written(memory, CATS, SHIPS)
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\nyes\n"))
    before = path.read_bytes()
    out, err = shown.after(*arguments, code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert complaint in err
    assert path.read_bytes() == before


@pytest.mark.usefixtures("two_exchanges")
def test_stats_count_what_there_is(shown: Shown, path: Path) -> None:
    out = shown.out("memory", "stats")
    assert "Chunks          6 (0 deleted, 0 merged into others)" in out
    assert f"Vectors         6 by {MINILM}, used by search" in out
    stats = shown.json("memory", "stats")
    assert (stats["path"], stats["exists"]) == (str(path), True)
    assert (stats["chunks"], stats["vectors"], stats["serving_embedder"]) == (6, {MINILM: 6}, MINILM)
    assert (stats["next_turn"], stats["chunks_without_vector"]) == ("5", 0)


@pytest.mark.usefixtures("two_exchanges")
def test_a_search_says_what_was_found_and_why(shown: Shown) -> None:
    out, err = shown.after("memory", "search", "how do ships float", "--limit", "2")
    first, text, *_ = out.splitlines()
    assert first.startswith("  1  3:0 (user) · 2026-05-17 ")
    for why in ("score ", "similarity 0.", "(rank ", "words (rank 1)"):
        assert why in first
    assert text == "     how do ships float"
    assert out.count("(rank ") == 3
    assert err == ""
    (best, *_) = shown.json("memory", "search", "how do ships float", "--limit", "1")
    assert (best["turn"], best["index"], best["role"], best["word_rank"]) == ("3", 0, "user", 1)
    assert best["time"] == "2026-05-17T12:03:00Z"


def test_a_search_says_what_is_a_wish(shown: Shown, path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, ("Always tell me the weight of ships.", "Certainly."), SHIPS))
    out = shown.out("memory", "search", "how do ships float")
    assert [line.strip().split()[1] for line in out.splitlines() if line.endswith(" · wish")] == ["1:0"]
    hits = shown.json("memory", "search", "how do ships float")
    assert {hit["turn"] for hit in hits if hit["is_wish"]} == {"1"}


@pytest.mark.usefixtures("two_exchanges")
@pytest.mark.parametrize(
    ("flags", "turns"),
    [
        (["--role", "user"], {"1", "3"}),
        (["--role", "user", "--role", "assistant"], {"1", "2", "3", "4"}),
        (["--since", "2026-05-17T12:03Z"], {"3", "4"}),
        (["--until", "2026-05-17T12:02:00+00:00"], {"1"}),
        (["--until", "2026-05-01"], set()),
        (["--mmr", "0.5"], {"1", "2", "3", "4"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_search_can_be_narrowed(shown: Shown, flags: list[str], turns: set[str]) -> None:
    assert {hit["turn"] for hit in shown.json("memory", "search", "water for cats", *flags)} == turns
    if not turns:
        assert shown.out("memory", "search", "water for cats", *flags) == "No matches.\n"


def test_a_search_tells_of_chunks_that_words_alone_can_find(shown: Shown, path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, CATS))
        written(memory, SHIPS)
    out, err = shown.after("memory", "search", "displace")
    assert "no vector" in out
    assert (
        err == "(2 chunks without a vector, found by words only; `halo-weave memory reembed` computes the missing "
        "vectors)\n"
    )


@pytest.mark.usefixtures("two_exchanges")
def test_show_prints_roles_times_states_and_texts(shown: Shown) -> None:
    shown.out("memory", "delete", "1:1")
    first, text, _, second, *_ = shown.out("memory", "show", "1").splitlines()
    assert first.startswith("1:0 (user) · 2026-05-17 ")
    assert first.endswith(" · 6 tokens from position 1000 · vector")
    assert text == "what do cats like to eat "
    assert second.startswith("1:1 (user)")
    assert "· deleted 20" in second
    (chunk,) = shown.json("memory", "show", "1:1")
    assert (chunk["position"], chunk["tokens"], chunk["deleted"], chunk["text"]) == ("1100", 3, True, "and to drink ")


def test_numbers_past_64_bits_are_decimal_text(shown: Shown, store: SqliteStore) -> None:
    store.advance(next_turn=LARGE, next_position=LARGE)
    lived_in(store)
    assert shown.json("memory", "show", f"{LARGE}:0")[0]["turn"] == str(LARGE)
    assert shown.json("memory", "stats")["next_position"] == str(store.stats().next_position)
    assert f"{LARGE}:0 (user)" in shown.out("memory", "show", str(LARGE))


@pytest.mark.usefixtures("two_exchanges")
def test_a_turn_is_deleted_and_comes_back(shown: Shown, store: SqliteStore) -> None:
    out, err = shown.after("memory", "delete", "2")
    assert out == "2 chunks deleted.\n"
    assert "`halo-weave memory undelete 2`" in err
    assert "2" not in {hit["turn"] for hit in shown.json("memory", "search", "cats like fish")}
    assert shown.out("memory", "delete", "2:0") == "0 chunks deleted; 1 chunk unchanged.\n"
    key = {"turn": "2", "index": 0, "role": "assistant"}
    assert shown.json("memory", "undelete", "2:0") == {"undeleted": [key], "unchanged": []}
    assert shown.json("memory", "search", "cats like fish", "--limit", "1")[0]["similarity"] is not None
    assert {entry.origin for entry in store.audit()} == {"command line"}
    assert shown.json("memory", "stats")["chunks_without_vector"] == 0


@pytest.mark.usefixtures("two_exchanges")
def test_a_backup_is_a_memory_and_never_replaces_a_file(shown: Shown, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert shown.json("memory", "backup", str(copy)) == {"file": str(copy), "bytes": copy.stat().st_size}
    assert shown.json("memory", "stats", "--db", str(copy))["chunks"] == 6
    assert "already exists" in shown.after("memory", "backup", str(copy), code=2)[1]


@pytest.mark.usefixtures("two_exchanges")
def test_verify_says_what_is_wrong(shown: Shown, path: Path) -> None:
    assert shown.out("memory", "verify") == "No problems found; 6 chunks checked.\n"
    assert shown.json("memory", "verify") == {"findings": []}
    content = path.read_bytes()
    place = content.index(b"displace")
    path.write_bytes(content[:place] + b"D" + content[place + 1 :])
    assert shown.json("memory", "verify", code=1)["findings"]
    assert "chunk" in shown.after("memory", "verify", code=1)[0]


@pytest.mark.usefixtures("two_exchanges")
def test_clearing_asks_and_leaves_a_backup(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, path: Path, tmp_path: Path
) -> None:
    types(monkeypatch, "no\n")
    assert "Cancelled; nothing was changed." in shown.after("memory", "clear", code=2)[1]
    types(monkeypatch, "yes\n")
    out, err = shown.after("memory", "clear")
    assert "This removes all 6 chunks, all windows, the notes and the memory tree from" in err
    (backup,) = tmp_path.glob("halo-before-clear-*.db")
    assert out == f"Backup: {backup}\nThe memory is empty; 6 chunks removed.\n"
    assert shown.json("memory", "stats")["chunks"] == 0
    assert shown.json("memory", "stats", "--db", str(backup))["chunks"] == 6
    assert b"displace" not in path.read_bytes()
    again = shown.json("memory", "clear", "--yes")
    assert again["cleared_chunks"] == 0
    assert Path(again["backup"]).exists()


@pytest.mark.usefixtures("two_exchanges")
def test_forgetting_asks_twice_and_leaves_no_byte(shown: Shown, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    assert "Nothing to forget" in shown.out("memory", "forget", "--yes")
    types(monkeypatch, "yes\nno\n")
    assert "Cancelled" in shown.after("memory", "forget", "4", code=2)[1]
    assert shown.json("memory", "stats")["deleted_chunks"] == 0
    types(monkeypatch, "yes\nyes\n")
    assert shown.out("memory", "forget", "4") == "1 chunk permanently removed; the file was rewritten without them.\n"
    assert b"displace" not in path.read_bytes()
    shown.out("memory", "delete", "2")
    assert [key["index"] for key in shown.json("memory", "forget", "--yes")["forgotten"]] == [0, 1]
    assert shown.json("memory", "stats")["chunks"] == 3
    assert shown.json("memory", "verify") == {"findings": []}


@pytest.mark.parametrize("name", ["memory.jsonl", "memory.jsonl.gz"])
def test_an_export_comes_back_from_an_empty_memory_as_the_same(
    shown: Shown, store: SqliteStore, tmp_path: Path, name: str
) -> None:
    lived_in(store)
    first, second, other = tmp_path / name, tmp_path / f"again-{name}", str(tmp_path / "other.db")
    exported = shown.json("export", str(first))
    assert (exported["file"], exported["chunks"], exported["bytes"]) == (str(first), 5, first.stat().st_size)
    assert shown.json("import", str(first), "--db", other)["added"] == 5
    assert shown.json("memory", "stats", "--db", other)["chunks_without_vector"] == 0
    shown.out("export", str(second), "--db", other)
    assert lines_behind_header(second) == lines_behind_header(first)
    assert shown.out("import", str(first), "--db", other) == "0 chunks added, 5 already in the memory.\n"
    assert "already exists" in shown.after("export", str(first), code=2)[1]
    assert "5 chunks (1 deleted)" in shown.out("export", str(first), "--overwrite")


def lines_behind_header(file: Path) -> list[bytes]:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines()[1:]


def test_a_browsers_export_is_imported_and_found(shown: Shown, tmp_path: Path) -> None:
    tokens = [
        {"token_id": place, "text": f"{word} ", "position": place, "turn_id": turn, "role": role, "sentence_id": 0}
        for turn, role, place, word in [
            (0, "system", 0, "Help!"),
            *((1, "user", 1 + place, word) for place, word in enumerate(SHIPS[0].split())),
            *((2, "assistant", 10 + place, word) for place, word in enumerate(SHIPS[1].split())),
        ]
    ]
    file = tmp_path / "browser.json"
    file.write_text(json.dumps({"tokens": tokens, "stats": {}, "sentences": []}), encoding="utf-8")
    assert shown.out("import", str(file)) == "2 chunks added; the system prompt of 1 token was skipped.\n"
    assert shown.json("memory", "search", "boats", "--limit", "1")[0]["similarity"] is not None


def test_what_was_imported_stays_if_it_cannot_be_embedded(shown: Shown, store: SqliteStore, tmp_path: Path) -> None:
    lived_in(store)
    file, other = str(tmp_path / "memory.jsonl"), str(tmp_path / "other.db")
    shown.out("export", file)
    away = ["--set", "embedder.kind=gguf", "--set", "embedder.model=/no/such.gguf"]
    out, err = shown.after("import", file, "--db", other, *away, code=1)
    assert out == "5 chunks added.\n"
    assert "/no/such.gguf" in err
    assert shown.json("memory", "stats", "--db", other)["chunks_without_vector"] == 4
    assert shown.json("import", file, "--db", other)["added"] == 0
    assert shown.json("memory", "stats", "--db", other)["chunks_without_vector"] == 0


def test_a_broken_file_is_refused_and_makes_no_chunks(shown: Shown, tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("nonsense", encoding="utf-8")
    assert "cannot be imported" in shown.after("import", str(tmp_path / "broken.jsonl"), code=2)[1]
    assert shown.json("memory", "stats")["chunks"] == 0


@pytest.mark.usefixtures("two_exchanges")
def test_reembedding_changes_over_and_says_so(shown: Shown) -> None:
    shown.out("memory", "delete", "2:1")
    with embedding_server() as server:
        flags = ["--embedder", "openai", "--embedder-url", server.url]
        out, err = shown.after("memory", "reembed", *flags)
        assert f'embedder.kind = "openai", embedder.url = "{server.url}"' in err
        assert out == (
            "5 chunks embedded. All chunks have vectors by openai:small.gguf, which search now uses. "
            f"Removed 5 old vectors by {MINILM}.\n"
        )
        assert shown.json("memory", "reembed", *flags) == {
            "embedder": "openai:small.gguf",
            "embedded": 0,
            "missing": 0,
            "dropped": {},
        }
        stats = shown.json("memory", "stats")
        assert (stats["serving_embedder"], stats["vectors"]["openai:small.gguf"]) == ("openai:small.gguf", 5)


def test_ctrl_c_stops_reembedding_cleanly_and_the_same_command_goes_on(shown: Shown, path: Path) -> None:
    with embedding_server(model="first") as first, closing(open_memory(path, at(first))) as memory:
        memory.embed(written(memory, *[SHIPS] * 70))
        memory.delete([ChunkKey(1, 0, "user")], "test")
        memory.settle()
    is_under_way, may_go_on = threading.Event(), threading.Event()

    def embeds_slowly(body: Body) -> Answer:
        if body["input"] != ["dimensions"]:
            is_under_way.set()
            may_go_on.wait(timeout=120)
        return embeds(body)

    with embedding_server(embeds_slowly, model="second") as second:
        flags = ["memory", "reembed", "--embedder", "openai", "--embedder-url", second.url]
        with subprocess.Popen(
            [sys.executable, "-m", "halo_weave", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HALO_MEMORY_PATH": str(path)},
        ) as process:
            assert is_under_way.wait(timeout=120)
            process.send_signal(signal.SIGINT)
            # The signal is pending; the process sees it at the latest when it continues.
            may_go_on.set()
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (130, "")
        assert "Stopped: 75 chunks still need a vector by openai:second.gguf. Run the same command again" in err
        stats = shown.json("memory", "stats")
        assert stats["serving_embedder"] == "openai:first.gguf"
        assert stats["vectors"] == {"openai:first.gguf": 139, "openai:second.gguf": 64}
        outcome = shown.json(*flags)
        assert (outcome["embedded"], outcome["dropped"]) == (75, {"openai:first.gguf": 139})
    assert shown.json("memory", "verify") == {"findings": []}


def at(server: LoopbackServer) -> EmbedderSettings:
    return EmbedderSettings(kind="openai", url=server.url)


def test_ctrl_c_while_an_import_is_embedded_keeps_the_import_and_the_rest_goes_on_later(
    shown: Shown, path: Path, tmp_path: Path
) -> None:
    with closing(open_memory(path)) as memory:
        written(memory, *[SHIPS] * 40)
    file, other = str(tmp_path / "memory.jsonl"), ["--db", str(tmp_path / "other.db")]
    shown.out("export", file)

    def interrupted(body: Body) -> Answer:
        if body["input"] != ["dimensions"] and server.bodies(EMBEDDINGS)[1:] == [body]:
            os.kill(os.getpid(), signal.SIGINT)
        return embeds(body)

    with embedding_server(interrupted) as server:
        flags = [*other, "--set", "embedder.kind=openai", "--set", f"embedder.url={server.url}"]
        out, err = shown.after("import", file, *flags, code=130)
        assert out == "80 chunks added.\n"
        assert "Stopped: 16 chunks still have no vector" in err
        assert shown.json("import", file, *flags)["present"] == 80
    assert shown.json("memory", "stats", *other)["chunks_without_vector"] == 0


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (("reading", 5, None, 0, 0.0), "reading 5 chunks"),
        (("embedding", 0, 1200, 0, 1.0), "embedding 0 of 1,200 chunks"),
        (("embedding", 600, 1200, 600, 60.0), "embedding 600 of 1,200 chunks · 10 per second · 1 min left"),
        (("embedding", 64, 100_000, 64, 16.0), "embedding 64 of 100,000 chunks · 4.0 per second · 6.9 h left"),
        (("embedding", 90, 100, 40, 4.0), "embedding 90 of 100 chunks · 10 per second · 1 s left"),
        (("writing", 100, 100, 100, 0.1), "writing 100 of 100 chunks · 1,000 per second"),
    ],
)
def test_progress_tells_rate_and_time_left(figures: tuple[str, int, int | None, int, float], words: str) -> None:
    step, done, total, new, seconds = figures
    assert progress_in_words(step, done, total, "chunks", new, seconds) == words


def test_progress_beside_a_pipe_is_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 2.0, 6.0, 7.0, 12.0])
    with ProgressLine("chunks", clock=lambda: next(times)) as line:
        for done in range(5):
            line.show("embedding", done * 10, 40)
    assert capsys.readouterr().err.splitlines() == [
        "embedding 20 of 40 chunks · 4.0 per second · 5 s left",
        "embedding 40 of 40 chunks · 3.6 per second",
    ]
