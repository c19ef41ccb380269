"""Export, import, backup and re-embedding over HTTP: all or nothing, with progress, and stoppable."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from halo_weave.server.runtime.jobs import JobHandle, Jobs
from support.servers.embedding_servers import embedding_server
from support.servers.served import Served, served, until


def ended(one: Served, job: dict[str, Any]) -> dict[str, Any]:
    def present() -> dict[str, Any]:
        return next(entry for entry in one.get("/api/jobs") if entry["id"] == job["id"])

    until(lambda: present()["state"] != "running")
    return present()


def test_an_export_brought_into_an_empty_memory_gives_an_equal_export(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with served(tmp_path / "a") as one:
        window = one.new_window()
        one.say(window, "Something to be kept")
        one.say(window, "And something else")
        response = one.get("/api/export")
        assert "attachment" in response.headers["content-disposition"]
        exported = response.content
    with served(tmp_path / "b") as one:
        job = ended(one, one.post("/api/import", exported, status=202))
        assert (job["state"], job["error"]) == ("done", None)
        assert "4 chunks added" in job["text"]
        again = one.get("/api/export").content
        assert again.split(b"\n")[1:] == exported.split(b"\n")[1:]
        assert one.get("/api/status")["memory"]["missing_vectors"] == 0


@pytest.mark.parametrize("content", [b"nonsense", b"{}", b"\x1f\x8bnonsense", b"\xff" * 1000])
def test_a_bad_file_changes_nothing_and_leaves_nothing_behind(tmp_path: Path, content: bytes) -> None:
    with served(tmp_path) as one:
        job = ended(one, one.post("/api/import", content, status=202))
        assert job["state"] == "failed"
        assert job["error"].startswith("The file cannot be imported")
        assert one.get("/api/status")["memory"]["chunks"] == 0
        assert not list((tmp_path / "halo.db-temporary").rglob("*.part"))


def test_a_backup_is_a_whole_memory(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        one.say(one.new_window(), "Something to be kept")
        (tmp_path / "copy.db").write_bytes(one.get(one.post("/api/backup")["link"]).content)
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    with served(tmp_path, overrides={"memory.path": str(tmp_path / "copy.db")}) as one:
        assert one.get("/api/turns/1")[0]["text"] == "Something to be kept"


def test_a_job_is_stopped_where_it_stands() -> None:
    jobs = Jobs(lambda: None)

    def work(handle: JobHandle) -> str:
        for done in range(1_000_000):
            handle.show("working", done, 1_000_000)
        return "done"

    job = jobs.start("import", "working", work)
    until(lambda: jobs.all()[0].done > 10)
    jobs.stop(job.id)
    until(lambda: jobs.all()[0].state == "stopped")
    assert jobs.all()[0].rate


def test_a_job_that_breaks_down_says_so(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(lambda: None)

    def work(_: JobHandle) -> str:
        raise ZeroDivisionError

    jobs.start("import", "working", work)
    until(lambda: jobs.all()[0].state == "failed")
    assert "ZeroDivisionError" in (jobs.all()[0].error or "")
    assert caplog.records


def test_reembedding_takes_the_embedder_that_the_settings_name_now(tmp_path: Path) -> None:
    with embedding_server() as embeddings, served(tmp_path) as one:
        one.say(one.new_window(), "Something to be kept")
        one.program.memory.settle()
        changed = one.call("PUT", "/api/settings", {"embedder.kind": "openai", "embedder.url": embeddings.url})
        assert changed["restart"] == []
        job = ended(one, one.post("/api/reembed", status=202))
        assert (job["state"], job["error"]) == ("done", None)
        assert "small" in job["text"]
        memory = one.get("/api/status")["memory"]
        assert "small" in memory["embedder"]
        assert memory["missing_vectors"] == 0
