"""The measuring code of `bench embedding`, on a few turns with the real models."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.test_recall import ROWS, written
from halo_weave import cli
from halo_weave.bench.conversations import Turn
from halo_weave.bench.embedding import embedding
from halo_weave.bench.embedding.embedding import RunTimes, medians, sample, table_bytes

ON = ("--set", "reader.kind=bundled")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SAMPLE_CHARACTERS", 2_000)


def test_all_figures_are_measured_on_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path / "talk.jsonl", ROWS)
    assert cli.main(["bench", "embedding", "--json", "--data", str(data), *ON]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["chunks"] == 4
    assert figures["tokens"] > 30
    assert figures["reader_over_minilm_with_overlap"] > figures["reader_over_minilm"] > 0
    assert figures["reader_rss_mb"] > 0
    assert figures["bytes_per_token"] >= 64


def test_without_data_prose_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "embedding", "--json", *ON]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] > 200


def test_without_a_reader_there_is_nothing_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "embedding", "--set", "reader.kind=off"]) == 2
    assert "reader.kind is off" in capsys.readouterr().err


def test_one_slow_run_does_not_change_the_ratio_and_overlap_is_a_price_of_its_own() -> None:
    usual = RunTimes(reader_s=3.0, reader_tokens=1000, read_tokens=1500, minilm_s=1.0, minilm_tokens=1000)
    slow = RunTimes(reader_s=90.0, reader_tokens=1000, read_tokens=1500, minilm_s=1.0, minilm_tokens=1000)
    assert medians([usual, slow, usual]) == pytest.approx(
        {
            "reader_over_minilm": 2.0,
            "reader_over_minilm_with_overlap": 3.0,
            "reader_us_per_token": 2000.0,
            "minilm_us_per_token": 1000.0,
        }
    )


def test_the_size_of_a_table_is_that_of_its_pages(tmp_path: Path) -> None:
    file = tmp_path / "some.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        for table in ("wanted", "other"):
            connection.execute(f"CREATE TABLE {table} (value BLOB)")
            connection.executemany(f"INSERT INTO {table} VALUES (?)", [(bytes(1000),)] * 200)
        connection.execute("DELETE FROM other WHERE rowid < 100")
    assert 200_000 < table_bytes(file, "wanted") < 300_000


lengths = st.lists(st.integers(1, 300), min_size=1, max_size=60)


@given(lengths, st.integers(100, 5_000))
def test_a_sample_is_in_order_and_not_much_larger_than_asked_for(sizes: list[int], characters: int) -> None:
    turns = [Turn("a", str(place), "user", "x" * size) for place, size in enumerate(sizes)]
    chosen = sample(turns, characters)
    places = [int(turn.id) for turn in chosen]
    assert places == sorted(set(places))
    assert sum(len(turn.text) for turn in chosen) <= characters + 8 * 300
    assert chosen
