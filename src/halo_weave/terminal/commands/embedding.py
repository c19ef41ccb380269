"""`halo-weave memory reembed` and embedding after an import: long work that can be stopped and resumed."""

import msgspec

from halo_weave.config import Settings
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedding.reembedding import Reembedded
from halo_weave.memory.memory import Memory
from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import opened_memory
from halo_weave.terminal.progress import ProgressLine, stoppable
from halo_weave.text.server_address import without_password

INTERRUPTED = 130


def reembed(settings: Settings, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        with ProgressLine("chunks") as line, stoppable() as is_stopped:
            outcome = memory.reembed(lambda done, total: line.show("embedding", done, total), is_stopped)
        if as_json:
            write_json(msgspec.structs.asdict(outcome))
        elif outcome.is_complete:
            output.write_line(_complete_in_words(outcome))
            if outcome.dropped:
                output.notice(f"(put this in the settings to keep using it: {_named(settings.embedder)})")
    if not outcome.is_complete:
        output.notice(
            f"Stopped: {counted(outcome.missing, 'chunk')} still need a vector by {outcome.embedder}. Run the same "
            "command again to continue; until then search works as before."
        )
        return INTERRUPTED
    return 0


def embed_missing(memory: Memory) -> tuple[int, int]:
    """Embed the chunks that have no vector. Return how many were embedded and how many are still missing."""
    total = memory.count_missing()
    if total == 0:
        return 0, 0
    with ProgressLine("chunks") as line, stoppable() as is_stopped:
        embedded = memory.embed_missing(lambda done: line.show("embedding", min(done, total), total), is_stopped)
    missing = memory.count_missing()
    if missing:
        output.notice(
            f"Stopped: {counted(missing, 'chunk')} still have no vector and are found by words only. Run `halo-weave "
            "memory reembed` to continue."
        )
    return embedded, missing


def _named(embedder: EmbedderSettings) -> str:
    values = {"kind": embedder.kind, "model": embedder.model, "url": without_password(embedder.url)}
    return ", ".join(f'embedder.{name} = "{value}"' for name, value in values.items() if value)


def _complete_in_words(outcome: Reembedded) -> str:
    sentences = [
        f"{counted(outcome.embedded, 'chunk')} embedded. All chunks have vectors by {outcome.embedder}, which search "
        "now uses."
    ]
    for name, count in outcome.dropped.items():
        sentences.append(f"Removed {counted(count, 'old vector')} by {name}.")
    return " ".join(sentences)
