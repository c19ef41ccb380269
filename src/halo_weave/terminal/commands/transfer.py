"""`halo-weave export` and `halo-weave import`."""

from pathlib import Path

import msgspec

from halo_weave.config import Settings
from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted
from halo_weave.terminal.commands.embedding import INTERRUPTED, embed_missing
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import opened_memory
from halo_weave.terminal.progress import ProgressLine
from halo_weave.transfer import Imported, Progress, ProgressCallback, export_memory, import_file


def export(settings: Settings, file: Path, *, overwrite: bool, skip_damaged: bool, as_json: bool) -> int:
    with opened_memory(settings) as memory, ProgressLine("chunks") as line:
        exported = export_memory(
            memory.store, file, overwrite=overwrite, skip_damaged=skip_damaged, progress=_shown_on(line)
        )
    if as_json:
        write_json({"file": str(file.absolute())} | msgspec.structs.asdict(exported))
    else:
        output.write_line(
            f"{counted(exported.chunks, 'chunk')} ({exported.deleted_chunks:,} deleted) with "
            f"{counted(exported.tokens, 'token')} written to {file} ({exported.bytes / 1e6:,.1f} MB)."
        )
        if exported.left_out:
            output.write_line(f"{counted(len(exported.left_out), 'damaged record')} skipped:")
            output.write_line("\n".join(f"  {one.what}: {one.problem}" for one in exported.left_out))
    return 0


def bring_in(settings: Settings, file: Path, *, as_json: bool) -> int:
    """Import a file, then embed its chunks. The import is kept even if embedding is stopped or fails."""
    with opened_memory(settings, may_be_new=True) as memory:
        with ProgressLine("chunks") as line:
            imported = import_file(memory.store, file, progress=_shown_on(line))
        if as_json:
            write_json(msgspec.structs.asdict(imported))
        else:
            output.write_line(_imported_in_words(imported))
        _, missing = embed_missing(memory)
    return INTERRUPTED if missing else 0


def _imported_in_words(imported: Imported) -> str:
    words = f"{counted(imported.added, 'chunk')} added"
    if imported.present:
        words += f", {imported.present:,} already in the memory"
    words += imported.renumbering_in_words()
    if imported.left_out_tokens:
        words += f"; the system prompt of {counted(imported.left_out_tokens, 'token')} was skipped"
    return f"{words}{imported.kept_in_words()}."


def _shown_on(line: ProgressLine) -> ProgressCallback:
    def show(progress: Progress) -> None:
        line.show(progress.step, progress.done, progress.total)

    return show
