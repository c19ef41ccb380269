"""Imports a file into the memory, all or nothing. The format is detected from the content, not from the name."""

from datetime import UTC, datetime
from pathlib import Path

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import utc_now
from halo_weave.transfer.browser.export import is_browser_export, with_whole_characters
from halo_weave.transfer.browser.importing import import_browser_export
from halo_weave.transfer.outcome import Imported, ProgressCallback, no_progress
from halo_weave.transfer.own.format import is_own_format
from halo_weave.transfer.own.importing import import_own_format
from halo_weave.transfer.reading import LARGEST_DOCUMENT_BYTES, opened
from halo_weave.transfer.refusal import refusal

_LONGEST_HEADER_BYTES = 64 * 1024


def import_file(
    store: Store, path: Path, *, now: datetime | None = None, progress: ProgressCallback = no_progress
) -> Imported:
    """Add everything that the memory does not have yet. Importing a file again adds nothing.

    Raises InputError if the file is invalid, StoreConflict if it contradicts the memory. New chunks have no vectors.
    """
    with opened(path) as source:
        first_line = source.line(_LONGEST_HEADER_BYTES)
        if is_own_format(first_line):
            return import_own_format(store, source, first_line, progress)
        document = first_line
        if first_line.lstrip().startswith(b"{") or not first_line.strip():
            document = with_whole_characters(document + source.rest(LARGEST_DOCUMENT_BYTES - len(first_line)))
        if is_browser_export(document):
            return import_browser_export(store, source, document, _time_of(path, now or utc_now()), progress)
    raise refusal(path, "it is not an export of Halo Weave or of its browser version, or it is damaged or incomplete")


def _time_of(path: Path, now: datetime) -> datetime:
    """Return the file's modification time, the best guess at when the text was said, but no time in the future."""
    return min(datetime.fromtimestamp(path.stat().st_mtime, UTC), now)
