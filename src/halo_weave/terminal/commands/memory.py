"""`halo-weave memory`: searches, shows, deletes, backs up and checks what the memory holds."""

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from halo_weave.config import Settings
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN
from halo_weave.records.chunks import Changed, Stats
from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.terminal import output
from halo_weave.terminal.address import Address
from halo_weave.terminal.chunk_lines import (
    chunk_for_programs,
    chunk_in_words,
    counted,
    hit_for_programs,
    hit_in_words,
    key_for_programs,
)
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import ORIGIN, chunks_at, opened_memory

_NOTHING = Stats(
    chunks=0,
    deleted_chunks=0,
    merged_chunks=0,
    tokens=0,
    next_turn=FIRST_TURN,
    next_position=FIRST_POSITION,
    vectors={},
    change_number=0,
    schema_version=0,
    bytes=0,
)


def stats(settings: Settings, *, as_json: bool) -> int:
    """Show statistics. A missing memory counts as empty and is not created."""
    if settings.memory.file.exists():
        with opened_memory(settings) as memory:
            found, serving, missing = memory.stats(), memory.serving_embedder(), memory.count_missing()
    else:
        found, serving, missing = None, None, 0
    if as_json:
        write_json(_stats_for_programs(settings.memory.file, found, serving, missing))
    else:
        rows = list(_stats_in_words(settings.memory.file, found, serving, missing))
        width = max(len(name) for name, _ in rows)
        output.write_line("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0


def search(
    settings: Settings,
    text: str,
    *,
    limit: int,
    roles: Collection[Role] | None,
    since: datetime | None,
    until: datetime | None,
    mmr_lambda: float | None,
    as_json: bool,
) -> int:
    with opened_memory(settings) as memory:
        memory.open_reader()
        hits = memory.search(text, limit=limit, roles=roles, since=since, until=until, mmr_lambda=mmr_lambda)
        hits = memory.with_words(hits, text)
        if as_json:
            write_json([hit_for_programs(hit) for hit in hits])
            return 0
        if not hits:
            output.write_line("No matches.")
        for place, hit in enumerate(hits, start=1):
            output.write_line("\n".join(hit_in_words(place, hit)))
        if missing := memory.count_missing():
            output.notice(
                f"({counted(missing, 'chunk')} without a vector, found by words only; `halo-weave memory reembed` "
                "computes the missing vectors)"
            )
    return 0


def show(settings: Settings, address: Address, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        chunks = [stored.chunk for stored in chunks_at(memory, address)]
    if as_json:
        write_json([chunk_for_programs(chunk) for chunk in chunks])
    else:
        output.write_line("\n\n".join("\n".join(chunk_in_words(chunk)) for chunk in chunks))
    return 0


def delete(settings: Settings, address: Address, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        keys = [stored.chunk.key for stored in chunks_at(memory, address)]
        changed = memory.delete(keys, ORIGIN)
        _tell_changed(changed, "deleted", as_json=as_json)
        if changed.changed and not as_json:
            output.notice(f"(`halo-weave memory undelete {address}` restores it)")
        memory.settle()
    return 0


def undelete(settings: Settings, address: Address, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        keys = [stored.chunk.key for stored in chunks_at(memory, address)]
        _tell_changed(memory.undelete(keys, ORIGIN), "undeleted", as_json=as_json)
        memory.settle()
    return 0


def backup(settings: Settings, file: Path, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        memory.store.backup(file)
    size = file.stat().st_size
    if as_json:
        write_json({"file": str(file.absolute()), "bytes": size})
    else:
        output.write_line(f"Memory copied to {file} ({size / 1e6:,.1f} MB).")
    return 0


def verify(settings: Settings, *, as_json: bool) -> int:
    """Check the memory. Return 1 if anything is wrong."""
    with opened_memory(settings) as memory:
        findings = memory.store.verify()
        chunks = memory.stats().chunks if not findings else 0
    if as_json:
        write_json({"findings": findings})
    else:
        output.write_line("\n".join(findings) or f"No problems found; {counted(chunks, 'chunk')} checked.")
    return 1 if findings else 0


def _tell_changed(changed: Changed, verb: str, *, as_json: bool) -> None:
    if as_json:
        write_json(
            {
                verb: [key_for_programs(key) for key in changed.changed],
                "unchanged": [key_for_programs(key) for key in changed.unchanged],
            }
        )
        return
    unchanged = f"; {counted(len(changed.unchanged), 'chunk')} unchanged" if changed.unchanged else ""
    output.write_line(f"{counted(len(changed.changed), 'chunk')} {verb}{unchanged}.")


def _stats_for_programs(path: Path, found: Stats | None, serving: str | None, missing: int) -> dict[str, Any]:
    counted = msgspec.structs.asdict(found or _NOTHING)
    for name in ("next_turn", "next_position"):
        counted[name] = text_of_number(counted[name])
    return {
        "path": str(path),
        "exists": found is not None,
        **counted,
        "serving_embedder": serving,
        "chunks_without_vector": missing,
    }


def _stats_in_words(path: Path, found: Stats | None, serving: str | None, missing: int) -> Iterator[tuple[str, str]]:
    yield "Memory", f"{path} ({f'{found.bytes / 1e6:,.1f} MB' if found else 'does not exist yet'})"
    found = found or _NOTHING
    yield "Chunks", f"{found.chunks:,} ({found.deleted_chunks:,} deleted, {found.merged_chunks:,} merged into others)"
    yield "Tokens", f"{found.tokens:,}"
    yield "Next turn", text_of_number(found.next_turn)
    yield "Next position", text_of_number(found.next_position)
    for name, count in found.vectors.items():
        yield "Vectors", f"{count:,} by {name}" + (", used by search" if name == serving else "")
    yield "Without vector", f"{missing:,}"
