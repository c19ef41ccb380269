"""`halo-weave memory repair` and `damaged`: sets damaged rows aside, and lists the rows that were set aside."""

from collections.abc import Iterator
from typing import Any

import msgspec

from halo_weave.config import Settings
from halo_weave.records.damage import Repaired, SetAside
from halo_weave.terminal import output
from halo_weave.terminal.chunk_lines import counted, local_time
from halo_weave.terminal.commands.embedding import INTERRUPTED, embed_missing
from halo_weave.terminal.listing import write_json
from halo_weave.terminal.opened_memory import opened_memory

_SHOWN_CHARACTERS = 2_000


def repair(settings: Settings, *, is_dry_run: bool, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        repaired = memory.repair(dry_run=is_dry_run)
        if as_json:
            write_json(_for_programs(repaired, is_dry_run=is_dry_run))
        else:
            output.write_line("\n".join(_in_words(repaired, is_dry_run=is_dry_run)))
        missing = 0
        if repaired.vectors and not is_dry_run:
            _, missing = embed_missing(memory)
    return INTERRUPTED if missing else 0


def damaged(settings: Settings, *, as_json: bool) -> int:
    with opened_memory(settings) as memory:
        kept = memory.store.set_aside()
    if as_json:
        write_json([msgspec.structs.asdict(one) for one in kept])
    else:
        output.write_line("\n\n".join("\n".join(_whole(one)) for one in kept) or "No damaged rows have been set aside.")
    return 0


def _for_programs(repaired: Repaired, *, is_dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": is_dry_run,
        "set_aside": [{"source": one.source, "what": one.what, "problem": one.problem} for one in repaired.set_aside],
        "mended": repaired.mended,
        "vectors": repaired.vectors,
    }


def _in_words(repaired: Repaired, *, is_dry_run: bool) -> Iterator[str]:
    if repaired == Repaired():
        yield "No damage found; nothing was changed."
        return
    if is_dry_run:
        yield "Dry run: a repair would do the following; nothing was changed."
    if repaired.set_aside:
        yield f"{counted(len(repaired.set_aside), 'damaged row')} set aside:"
        yield from (f"  {one.what}: {one.problem}" for one in repaired.set_aside)
    yield from repaired.mended
    if repaired.vectors:
        yield f"{counted(repaired.vectors, 'damaged vector')} removed; new ones will be computed."
    if not repaired.set_aside and not repaired.mended and not repaired.vectors:
        yield "Indexes were rebuilt; no rows were damaged."
    if repaired.set_aside and not is_dry_run:
        yield "Run `halo-weave memory damaged` to see the rows that were set aside."


def _whole(one: SetAside) -> Iterator[str]:
    yield f"{one.number}  {one.what} · set aside {local_time(one.time)} from {one.source}: {one.problem}"
    for name, value in one.content.items():
        shown = f"{len(value):,} bytes, {value.hex()}" if isinstance(value, bytes) else str(value)
        yield f"     {name}: {shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + '…'}"
