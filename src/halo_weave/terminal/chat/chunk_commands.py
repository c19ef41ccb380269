"""Chat commands that act on chunks: pin, unpin, resurrect, delete, undo."""

from collections.abc import Sequence

from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import ROLES
from halo_weave.session.actions import actions
from halo_weave.terminal import output
from halo_weave.terminal.address import address_of_text
from halo_weave.terminal.chat.open_chat import OpenChat
from halo_weave.terminal.chunk_lines import counted
from halo_weave.terminal.opened_memory import chunks_at


def pin(chat: OpenChat, argument: str) -> None:
    keys = _living(chat, argument)
    for key in keys:
        actions.pin(chat.window, key)
    output.notice(f"({counted(len(keys), 'chunk')} pinned; stays in context until /unpin)")


def unpin(chat: OpenChat, argument: str) -> None:
    keys = _living(chat, argument)
    for key in keys:
        actions.unpin(chat.window, key)
    output.notice(f"({counted(len(keys), 'chunk')} unpinned)")


def resurrect(chat: OpenChat, argument: str) -> None:
    """Resurrect chunks, skipping any that an earlier one has already brought back as its anchor."""
    chunks = _chunks(chat.window.memory, argument)
    keys = [chunk.key for chunk in chunks if not chunk.deleted] or [chunk.key for chunk in chunks]
    dormant = [key for key in keys if key not in chat.window.life.context] or keys
    for key in dormant:
        if key is dormant[0] or key not in chat.window.life.context:
            actions.resurrect(chat.window, key)


def delete(chat: OpenChat, argument: str) -> None:
    """Delete chunks. Deleting the newest answer puts its question back into the prompt, to edit and send again."""
    chunks = _chunks(chat.window.memory, argument)
    keys = [chunk.key for chunk in chunks if not chunk.deleted] or [chunk.key for chunk in chunks]
    gone: list[ChunkKey] = []
    for key in keys:
        if key not in gone:
            deletion = actions.delete(chat.window, key)
            gone += deletion.keys
            chat.draft = deletion.question or chat.draft
    chat.deletions.append(tuple(gone))
    output.notice(f"({counted(len(gone), 'chunk')} deleted in all windows; /undo restores)")


def undo(chat: OpenChat, _argument: str) -> None:
    if not chat.deletions:
        raise InputError(
            "Nothing to undo: nothing was deleted in this chat. `halo-weave memory undelete` restores earlier "
            "deletions."
        )
    keys = chat.deletions[-1]
    actions.undelete(chat.window, keys)
    chat.deletions.pop()
    chat.draft = ""
    output.notice(f"({counted(len(keys), 'chunk')} restored)")


def _living(chat: OpenChat, argument: str) -> list[ChunkKey]:
    """Return the living chunks at an address, or all of them if none lives, so that the action reports the error."""
    keys = [chunk.key for chunk in _chunks(chat.window.memory, argument)]
    return [key for key in keys if key in chat.window.life.context] or keys


def _chunks(memory: Memory, argument: str) -> Sequence[Chunk]:
    """Return the chunks at TURN or TURN:CHUNK. A role after it is needed only if several roles have chunks there."""
    place, _, role = argument.partition(" ")
    if role and role not in ROLES:
        raise InputError(f"{role!r} is not a role; write TURN:CHUNK and optionally a role, such as 12:0 or 12:0 user.")
    address = address_of_text(place)
    chunks = [stored.chunk for stored in chunks_at(memory, address)]
    chosen = [chunk for chunk in chunks if role in ("", chunk.key.role)]
    if not chosen:
        raise InputError(f"There is no chunk of the {role} at {address}.")
    if len(roles := {chunk.key.role for chunk in chosen}) > 1:
        raise InputError(
            f"{address} has chunks of {' and '.join(sorted(roles))}; add the role, such as {address} {min(roles)}."
        )
    return chosen
