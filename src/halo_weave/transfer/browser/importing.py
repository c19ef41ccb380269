"""Imports a conversation of the browser Halo Weave into the memory, once."""

from datetime import datetime

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import FIRST_POSITION, Store
from halo_weave.records.chunks import Chunk, Record
from halo_weave.transfer.browser.export import FINGERPRINT, conversation_of
from halo_weave.transfer.outcome import BATCH, Imported, Progress, ProgressCallback
from halo_weave.transfer.reading import ImportSource
from halo_weave.transfer.refusal import reason_of, refusal
from halo_weave.transfer.renumbering import place


def import_browser_export(
    store: Store, source: ImportSource, document: bytes, time: datetime, progress: ProgressCallback
) -> Imported:
    progress(Progress("reading", 0, None))
    try:
        conversation = conversation_of(document, time)
    except InputError as error:
        raise refusal(source.path, reason_of(error)) from error
    total = len(conversation.chunks)
    progress(Progress("reading", total, total))
    left_out = conversation.system_prompt_tokens
    if not total or _has_import(store, conversation.fingerprint):
        return Imported("browser", added=0, present=total, left_out_tokens=left_out)
    progress(Progress("writing", 0, total))
    placing = place(store, conversation.chunks)
    store.restore(map(Record, placing.chunks), (), next_turn=0, next_position=0)  # reserved already
    progress(Progress("writing", total, total))
    return Imported(
        "browser",
        added=total,
        present=0,
        left_out_tokens=left_out,
        is_renumbered=placing.is_renumbered,
        is_far_away=placing.is_far_away,
    )


def _has_import(store: Store, fingerprint: str) -> bool:
    """Search the whole memory, including deleted chunks: a conversation that was deleted must not come back."""
    position = FIRST_POSITION
    while batch := store.chunks_from(position, BATCH):
        if any(_fingerprint(stored.chunk) == fingerprint for stored in batch):
            return True
        position = batch[-1].chunk.end_position
    return False


def _fingerprint(chunk: Chunk) -> object:
    return None if chunk.metadata is None else chunk.metadata.get(FINGERPRINT)
