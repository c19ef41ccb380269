"""Chat commands that only show: windows, the graveyard, search hits, statistics, the heat map."""

import os
import sys
from collections.abc import Iterator

from halo_weave.errors import InputError
from halo_weave.terminal import output
from halo_weave.terminal.chat.heat_map import heat_map
from halo_weave.terminal.chat.open_chat import OpenChat
from halo_weave.terminal.chat.status_line import tokens_per_second
from halo_weave.terminal.chunk_lines import counted, first_words, hit_in_words, local_time

_GRAVES_SHOWN = 20
_HITS_SHOWN = 10


def windows(chat: OpenChat, _argument: str) -> None:
    listed = chat.hub.windows()
    width = max(len(one.name) for one in listed)
    for one in listed:
        mark = "*" if one.id == chat.window.id else " "
        output.write_line(f"{mark} {one.name:<{width}}  saved {local_time(one.saved_at)}")


def graveyard(chat: OpenChat, argument: str) -> None:
    """List buried chunks, most recently buried first."""
    if argument and not (argument.isdecimal() and argument.isascii() and len(argument) <= 9):
        raise InputError(f"{argument!r} is not a number; write how many chunks to show, such as /graveyard 20.")
    graves = chat.window.life.burial_log
    shown = graves.page(None, int(argument) if argument else _GRAVES_SHOWN)
    count = len(graves)
    if not count:
        output.write_line("Nothing in this window has been archived.")
    for grave in shown:
        stored = chat.window.memory.chunk(grave.key)
        words = first_words(stored.chunk.text) if stored else "(no longer in the memory)"
        output.write_line(f"{grave.key} · peak {grave.peak:,.0f} · archived {local_time(grave.time)} · {words}")
        output.write_line(f"    {grave.reason}")
    if len(shown) < count:
        output.write_line(f"({count - len(shown):,} more; /graveyard {count} to see all)")


def search(chat: OpenChat, argument: str) -> None:
    if not argument:
        raise InputError("Nothing to search for; write the text after /search.")
    hits = chat.memory.search(argument, limit=_HITS_SHOWN)
    if not hits:
        output.write_line("No matches.")
    for place, hit in enumerate(hits, start=1):
        output.write_line("\n".join(hit_in_words(place, hit)))


def stats(chat: OpenChat, _argument: str) -> None:
    rows = list(_stats_in_words(chat))
    width = max(len(name) for name, _ in rows)
    output.write_line("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def heat(chat: OpenChat, _argument: str) -> None:
    with chat.window.life.lock:
        chunks = list(chat.window.life.context)
        positions = sorted(chunk.first_position for chunk in chunks)
        counts = [gap.chunks if gap else 0 for gap in chat.window.life.burial_log.gaps(positions)]
        before = dict(zip(positions, counts[:-1], strict=True))
        buried = [*(before[chunk.first_position] for chunk in chunks), counts[-1]]
        lines = list(heat_map(chunks, buried, has_colours=output.has_styles(sys.stdout, os.environ)))
    output.write_styled("\n".join(lines) + "\n" if lines else "The context is empty.\n")


def _stats_in_words(chat: OpenChat) -> Iterator[tuple[str, str]]:
    window, life = chat.window, chat.window.life
    budget = f", budget {window.budget:,}" if window.budget else ", no budget"
    pinned = sum(chunk.is_pinned for chunk in life.context)
    yield "Window", f"{window.name}, {counted(window.messages, 'message')}"
    yield "Model", f"{window.engine.facts.name}, brightness by {window.scorer.name}"
    yield "Context", f"{life.size():,} tokens{budget}, {window.usable_tokens:,} usable"
    yield "Chunks", f"{len(life.context):,} in context ({pinned:,} pinned), {len(life.burial_log):,} archived"
    if figures := chat.showing.latest_stats:
        speed = tokens_per_second(figures)
        wrote = f"{figures['generated']:,} tokens" + (f", {speed:,.1f} tokens/s" if speed is not None else "")
        yield "Last reply", f"{wrote}; first token after {figures['first_token_s']:.2f} s"
        yield "Last read", f"{figures['decoded']:,} read, {figures['restored']:,} restored, {figures['kept']:,} kept"
        yield "Last search", f"{figures['search_s'] * 1000:,.0f} ms; {figures['resurrected']:,} tokens returned"
        if figures["malformed"]:
            yield "Attention", f"unusable in {counted(figures['malformed'], 'step')}"
    memory = chat.memory.stats()
    missing = chat.memory.count_missing()
    yield "Memory", f"{counted(memory.chunks, 'chunk')}, {memory.tokens:,} tokens; {missing:,} without a vector yet"
