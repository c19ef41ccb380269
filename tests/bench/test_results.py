"""Figures come from result files: the page and the README's table are generated, never written by hand."""

import json
from pathlib import Path

import pytest

from halo_weave import cli
from halo_weave.bench.results import results
from halo_weave.bench.results.results import (
    BEGIN,
    BENCHES,
    END,
    headline,
    load,
    make,
    page,
    save,
    sections,
    with_headline,
)
from halo_weave.bench.results.sections import with_sections
from halo_weave.bench.results.tables import tables_of
from halo_weave.errors import InputError
from support.folders import PROJECT

ENGINE = {"capture_overhead": 1.0625, "bury_speedup": 141.26, "model": "a|b", "edit_kl": 0.0104}
RECALL = {
    "evidence_at_1024": 74.61,
    "questions": 1982,
    "by_category": {"temporal": {"questions": 321, "evidence_at_1024": 70.0}},
    "intervals": {"evidence_at_1024": [72.8, 76.4]},
}


def of_policy(evidence: float) -> dict[str, object]:
    intervals = {"evidence": [evidence - 1, evidence + 1], "gap_closed": None}
    return {"evidence": evidence, "gap_closed": None, "decoded_per_turn": 93.4, "intervals": intervals}


POLICIES = {
    "data": "tiny",
    "questions": 3,
    "budgets": {"1024": {"fifo": of_policy(7.1), "halo_weave": of_policy(66.6)}},
    "ahead_of": {"1024": {"fifo": {"evidence": [59.5, 50.0, 70.0], "log_likelihood": None}}},
    "living_shares": {"1024": {"0.25": {"evidence": 81.5, "interval": [80.0, 83.0]}}},
}

PEERS = {
    "questions": 1982,
    "chunks": 5882,
    "peers": {
        "halo-weave": {
            "recall_at_10": 79.5,
            "evidence_at_1024": 86.2,
            "rss_mb": 90.0,
            "intervals": {"recall_at_10": [77.8, 81.1], "evidence_at_1024": [84.8, 87.5]},
        },
        "newcomer": {
            "recall_at_10": 12.3,
            "evidence_at_1024": 45.6,
            "intervals": {"recall_at_10": [12.0, 12.6], "evidence_at_1024": [45.0, 46.0]},
        },
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs" / "results"
    save(folder, "engine", ["bench", "engine", "--save", str(folder), "--json"], ENGINE, None)
    data = Path("/somewhere/private/locomo.jsonl.gz")
    save(folder, "recall", ["bench", "recall", "--data", str(data), "--save", str(folder)], RECALL, data)
    (folder / "policies-tiny.json").write_text(json.dumps(POLICIES), encoding="utf-8")
    return folder


def test_the_readme_and_the_page_are_what_the_committed_results_give() -> None:
    """After a change to a result file or the generator, run `halo-weave bench results`."""
    found = load(PROJECT / "docs" / "results")
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert readme == with_headline(readme, headline(found), "README.md")
    assert (PROJECT / "docs" / "results.md").read_text(encoding="utf-8") == page(found)
    for path in (PROJECT / "docs").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert text == with_sections(text, sections(found), path.name)


def test_a_result_tells_its_command_date_machine_and_versions_but_no_path(folder: Path) -> None:
    file = json.loads((folder / "recall-locomo.json").read_text(encoding="utf-8"))
    assert file["figures"] == RECALL
    assert file["origin"]["command"] == "halo-weave bench recall --data locomo.jsonl.gz"
    assert "cores" in file["origin"]["machine"]
    assert {"halo-weave", "Python", "numpy"} <= set(file["origin"]["versions"])
    assert "private" not in json.dumps(file)
    assert str(folder) not in json.dumps(file)


def test_the_page_has_every_figure_with_its_interval_and_names_what_is_missing(folder: Path) -> None:
    written = page(load(folder))
    assert "| `evidence_at_1024` | 74.6 [72.8, 76.4] |" in written
    assert "| `questions` | 1,982 |" in written
    assert "| `temporal` | 321 | 70.0 |" in written
    assert "| `model` | a\\|b |" in written
    assert "`halo-weave bench recall --data locomo.jsonl.gz`" in written
    assert "| h  Halo Weave | 66.6 [65.6, 67.6] |" in written
    assert "0.25: 81.5 [80.0, 83.0]" in written
    assert "Date, machine and versions were not recorded." in written
    missing = next(line for line in written.splitlines() if line.startswith("Not measured"))
    assert {name for name in BENCHES if f"bench {name}`" in missing} == set(BENCHES) - {"recall", "policies", "engine"}


def test_members_of_a_group_are_rows_with_intervals_of_their_own_or_from_around_them() -> None:
    figures = {
        "default": {"scorer": "sums", "kept_at_25": 31.2},
        "scorers": {
            "sums": {"kept_at_25": 31.2},
            "voting": {"kept_at_25": 28.0, "intervals": {"kept_at_25": [27, 29]}},
        },
        "default_ahead_of": {"voting": {"kept_at_25": [3.2, 1.0, 5.0]}},
        "intervals": {"sums": {"kept_at_25": [30.0, 33.0]}},
    }
    lines = list(tables_of("keep", figures))
    assert "| `sums` | 31.2 [30.0, 33.0] |" in lines
    assert "| `voting` | 28.0 [27.0, 29.0] |" in lines
    assert "| `voting` | 3.2 [1, 5] |" in lines
    assert "| `scorer` | sums |" in lines


def test_the_headline_has_only_what_was_measured(folder: Path) -> None:
    table = headline(load(folder))
    assert "| Burying: speed-up over reading the rest again | 141.3 × |" in table
    assert "| Evidence retrieved within 1,024 tokens | 74.6 % (locomo) |" in table
    assert "Resurrecting" not in table
    assert headline([]).startswith("There are no result files yet")


def test_the_same_figure_of_several_sets_is_one_row_of_the_headline(folder: Path) -> None:
    save(folder, "recall", ["bench", "recall"], {"evidence_at_1024": 50.0}, Path("another.jsonl"))
    assert "| Evidence retrieved within 1,024 tokens | 50.0 % (another), 74.6 % (locomo) |" in headline(load(folder))


def test_a_picture_beside_a_result_is_shown(folder: Path) -> None:
    (folder / "recall-locomo.svg").touch()
    (folder / "recall-locomo.png").touch()
    assert page(load(folder)).count("](results/recall-locomo.png)") == 1


def test_the_command_fills_page_and_readme_and_changes_nothing_else(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme, target = tmp_path / "README.md", tmp_path / "docs" / "results.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    arguments = ["bench", "results", "--folder", str(folder), "--page", str(target), "--readme", str(readme)]
    assert cli.main(arguments) == 0
    assert "3 result files" in capsys.readouterr().out
    assert target.read_text(encoding="utf-8") == page(load(folder))
    text = readme.read_text(encoding="utf-8")
    assert text == f"before\n{BEGIN}\n{headline(load(folder))}\n{END}\nafter\n"
    assert cli.main(arguments) == 0
    assert readme.read_text(encoding="utf-8") == text


def test_a_section_of_another_page_shows_the_result_that_it_names(folder: Path, tmp_path: Path) -> None:
    save(folder, "peers", ["bench", "peers"], PEERS, Path("locomo.jsonl.gz"))
    readme, other, plain = (tmp_path / "docs" / name for name in ("README.md", "other.md", "plain.md"))
    readme.write_text(f"{BEGIN}\n{END}\n{section('engine')}", encoding="utf-8")
    other.write_text(f"before\n{section('peers-locomo')}between\n{section('keep-x')}after\n", encoding="utf-8")
    plain.write_text("nothing to fill", encoding="utf-8")
    make(folder, tmp_path / "docs" / "results.md", readme)
    text = other.read_text(encoding="utf-8")
    assert "1,982 questions, 5,882 chunks" in text
    assert "| newcomer | – | 12.3 [12.0, 12.6] | 45.6 [45.0, 46.0] |\n| Halo Weave | words, vectors and " in text
    assert text.startswith("before\n<!-- figures of peers-locomo: begin -->\n1,982")
    assert text.endswith(f"<!-- figures of peers-locomo: end -->\nbetween\n{section('keep-x')}after\n")
    assert "bury_speedup" in readme.read_text(encoding="utf-8")
    assert headline(load(folder)) in readme.read_text(encoding="utf-8")
    assert plain.read_text(encoding="utf-8") == "nothing to fill"
    make(folder, tmp_path / "docs" / "results.md", readme)
    assert other.read_text(encoding="utf-8") == text


def test_a_section_of_policies_has_evidence_and_reading_in_one_table(folder: Path, tmp_path: Path) -> None:
    budget = {
        "fifo": {"evidence": 1.25, "decoded_per_turn": 80, "gap_closed": None},
        "halo_weave": {"evidence": 77.8, "decoded_per_turn": None, "gap_closed": None},
    }
    save(folder, "policies", ["bench", "policies"], {"budgets": {"512": budget, "1024": budget}}, Path("x.jsonl"))
    readme, other = (tmp_path / "docs" / name for name in ("README.md", "other.md"))
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    other.write_text(section("policies-x"), encoding="utf-8")
    make(folder, tmp_path / "docs" / "results.md", readme)
    text = other.read_text(encoding="utf-8")
    assert "| policy | 512 tokens | 1024 tokens |" in text
    assert "| a  newest only (FIFO) | 1.25 (80) | 1.25 (80) |" in text
    assert "| h  Halo Weave | 77.8 (–) | 77.8 (–) |" in text


def section(name: str) -> str:
    return f"<!-- figures of {name}: begin -->\nold\n<!-- figures of {name}: end -->\n"


def test_a_section_without_an_end_is_refused_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    readme, other = tmp_path / "README.md", tmp_path / "docs" / "other.md"
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    other.write_text("<!-- figures of engine: begin -->\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"The section for figures of engine in .*other\.md has no end\."):
        make(folder, tmp_path / "docs" / "results.md", readme)
    assert readme.read_text(encoding="utf-8") == f"{BEGIN}\n{END}\n"
    assert not (tmp_path / "docs" / "results.md").exists()


def test_what_cannot_be_used_is_refused_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("no marks", encoding="utf-8")
    with pytest.raises(InputError, match="no section for the figures"):
        make(folder, tmp_path / "results.md", readme)
    assert not (tmp_path / "results.md").exists()
    (folder / "other.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="does not start with the name of a benchmark"):
        load(folder)
    (folder / "other.json").unlink()
    (folder / "keep-x.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match="is not a result"):
        load(folder)


def test_a_bench_saves_its_result_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_weave.bench.engine.run", lambda *_: ENGINE)
    assert cli.main(["bench", "engine", "--json", "--save", str(tmp_path / "saved")]) == 0
    (result,) = load(tmp_path / "saved")
    assert (result.bench, result.file.figures) == ("engine", ENGINE)
    assert result.file.origin is not None
    assert result.file.origin.command == "halo-weave bench engine --json"


def test_every_bench_of_the_page_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for name in results.BENCHES:
        assert cli.main(["bench", name, "--help"]) == 0
        assert "--save FOLDER" in capsys.readouterr().out
