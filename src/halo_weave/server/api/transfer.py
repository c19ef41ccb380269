"""Export, import and backup over HTTP."""

from pathlib import Path

import msgspec

from halo_weave.errors import InputError, StoreError
from halo_weave.records.chunks import utc_now
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.server.http_errors import Busy
from halo_weave.server.runtime.downloads import Download
from halo_weave.server.runtime.jobs import Job, JobHandle
from halo_weave.server.runtime.program import Program
from halo_weave.transfer import Imported, Progress, export_memory, import_file


class Offered(msgspec.Struct):
    """`link` works once, within a minute."""

    link: str
    name: str
    bytes: int


class ExportQuery(msgspec.Struct):
    """With `skip_damaged`, damaged records are left out of the file; without it, they make the export fail."""

    skip_damaged: bool = False


def _export(call: Call) -> Download:
    store, query = call.program.memory.store, call.query
    return call.program.downloads.make(
        lambda path: export_memory(store, path, skip_damaged=query.skip_damaged),
        f"halo-weave-{utc_now():%Y-%m-%d}.jsonl",
        "application/jsonl",
    )


def _backup(call: Call) -> Download:
    return call.program.downloads.make(
        call.program.memory.store.backup, f"halo-weave-{utc_now():%Y-%m-%d}.db", "application/vnd.sqlite3"
    )


def _offer_export(call: Call) -> Offered:
    return _offered(call, _export(call))


def _offer_backup(call: Call) -> Offered:
    return _offered(call, _backup(call))


def _offered(call: Call, download: Download) -> Offered:
    size_bytes = download.size_bytes  # read before the offer, after which the file may be taken and closed
    return Offered(f"/api/downloads/{call.program.downloads.offer(download)}", download.name, size_bytes)


def _download(call: Call) -> Download:
    return call.program.downloads.take(call.part("secret"))


def _import(call: Call) -> Job:
    file = call.file
    assert file is not None
    try:
        if file.stat().st_size == 0:
            raise InputError("The file is empty; nothing was changed.")
        return call.program.jobs.start("import", "reading", lambda handle: _bring_in(call.program, file, handle))
    except (InputError, Busy):
        file.unlink(missing_ok=True)
        raise


def _bring_in(program: Program, file: Path, handle: JobHandle) -> str:
    """Import the file and embed its chunks; imported chunks stay even if embedding is stopped or fails."""
    memory = program.memory

    def show(progress: Progress) -> None:
        handle.show(progress.step, progress.done, progress.total)

    try:
        imported = import_file(memory.store, file, progress=show)
    except (InputError, StoreError) as error:
        # The name of the temporary file means nothing to the person who uploaded it.
        raise type(error)(str(error).replace(str(file), "The file")) from error
    finally:
        file.unlink(missing_ok=True)
    total = memory.count_missing()
    memory.embed_missing(lambda done: handle.note("embedding", min(done, total), total), is_stopped=handle.is_stopped)
    program.broadcast.tell("status")
    return _in_words(imported)


def _in_words(imported: Imported) -> str:
    words = f"{imported.added:,} chunks added"
    if imported.present:
        words += f", {imported.present:,} already in the memory"
    words += imported.renumbering_in_words()
    if imported.left_out_tokens:
        words += f"; the system prompt of {imported.left_out_tokens:,} tokens was skipped"
    return words + imported.kept_in_words()


ENDPOINTS = [
    Endpoint(
        "GET",
        "/api/export",
        "Export the whole memory as one file.",
        _export,
        None,
        media_type="application/jsonl",
        query=ExportQuery,
    ),
    Endpoint(
        "POST",
        "/api/import",
        "Import a file into the memory, completely or not at all.",
        _import,
        Job,
        status=202,
        takes_file=True,
    ),
    Endpoint("POST", "/api/export", "Prepare an export for download.", _offer_export, Offered, query=ExportQuery),
    Endpoint("POST", "/api/backup", "Prepare a copy of the memory's database for download.", _offer_backup, Offered),
    Endpoint(
        "GET",
        "/api/downloads/{secret}",
        "Download a prepared file; works once, within a minute.",
        _download,
        None,
        media_type="application/octet-stream",
    ),
]
