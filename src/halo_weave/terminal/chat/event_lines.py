"""Window events other than the reply itself, as short lines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halo_weave.session.window.events import Event
from halo_weave.terminal.chunk_lines import counted, first_words

_SHOWN_CHUNKS = 3
_ENDINGS = {
    "length": "(reached the maximum length; /continue for more, --max-tokens for longer replies)",
    "stopped": "(stopped)",
}


def event_in_words(event: Event, *, is_typed: bool) -> Iterator[str]:
    """Yield lines for a person. Changes of the context are reported only in an interactive chat, not over a pipe."""
    if event.kind == "notice":
        yield event.data["text"]
    if not is_typed:
        return
    match event.kind:
        case "resurrected":
            yield from _chunks_in_words("returned", event.data["chunks"])
        case "buried":
            yield from _chunks_in_words("archived", event.data["chunks"])
        case "deleted" if event.data["origin"] == "elsewhere":
            yield f"({counted(len(event.data['keys']), 'chunk')} deleted in another window or program)"


def ending_in_words(ending: str, *, has_words: bool) -> str | None:
    """Explain why a reply ended, or return None if it ended normally."""
    if has_words:
        return _ENDINGS.get(ending)
    if ending == "stopped":
        return "(stopped before the reply began; the message is saved, /continue answers it)"
    return None if ending == "failed" else "(the model gave an empty reply)"


def _chunks_in_words(verb: str, chunks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Describe the first few chunks that have a reason of their own, and only count the others, such as anchors."""
    telling = [chunk for chunk in chunks if chunk["code"] != "anchor"][:_SHOWN_CHUNKS]
    for chunk in telling:
        key, words = chunk["key"], first_words("".join(chunk.get("pieces", ())))
        reason = str(chunk["reason"]).rstrip(".")
        yield f"({verb} {key['turn']}:{key['chunk']}{f' “{words}”' if words else ''}: {reason})"
    if rest := len(chunks) - len(telling):
        yield f"({verb} {rest:,} more)"
