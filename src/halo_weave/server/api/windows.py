"""Windows over HTTP: list, open, change and close them, and have the model reply."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from halo_weave import paths
from halo_weave.errors import InputError
from halo_weave.records.numbers import number_of_text, text_of_number
from halo_weave.server.api import status
from halo_weave.server.api.shapes import KeyText, LongText, WindowEntry
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.session.actions import actions, reflection
from halo_weave.session.actions.capture import Capture, start_capture, stop_capture
from halo_weave.session.settings import FRESH
from halo_weave.session.turn import turn
from halo_weave.session.turn.capacity import require_room
from halo_weave.session.window.pending import PendingMessage
from halo_weave.session.window.private_windows import PRIVATE_ID
from halo_weave.session.window.window_state import WindowState

Name = Annotated[str, msgspec.Meta(max_length=1000)]
FolderName = Annotated[str, msgspec.Meta(max_length=200)]


class NewWindow(msgspec.Struct, forbid_unknown_fields=True):
    """Without a name, the window gets one from its first message. A `fresh` window starts without recall; a `private`
    one reads the memory and writes nothing, and has no name of its own."""

    name: Name | None = None
    kind: Literal["ordinary", "fresh", "private"] = "ordinary"


class WindowChange(msgspec.Struct, forbid_unknown_fields=True):
    """`overrides` has all of the window's own settings, by dotted names, and replaces the previous ones. An empty
    `folder` takes the window out of its folder."""

    name: Name | None = None
    folder: FolderName | None = None
    overrides: dict[str, Any] | None = None


class ListOrder(msgspec.Struct, forbid_unknown_fields=True):
    """The windows of a folder, in the order in which they stand there from now on."""

    windows: Annotated[list[Name], msgspec.Meta(max_length=100_000)]
    folder: FolderName = ""


class Message(msgspec.Struct, forbid_unknown_fields=True):
    text: LongText


class Edit(msgspec.Struct, forbid_unknown_fields=True):
    turn: KeyText
    text: LongText


class EditedReply(msgspec.Struct):
    """The new turn of the reply."""

    turn: str


class CaptureWish(msgspec.Struct, forbid_unknown_fields=True):
    is_on: bool


class Queued(msgspec.Struct):
    """How many replies are ahead; 0 if this one starts at once."""

    queued: int


class CaptureFolder(msgspec.Struct):
    folder: str


def _list(call: Call) -> list[WindowEntry]:
    return status.windows(call.program)


def _new(call: Call) -> WindowState:
    hub, wanted = call.program.hub, call.body
    if wanted.kind == "private":
        if wanted.name is not None:
            raise InputError("A private window has no name of its own; leave the name out.")
        window = hub.open_private()
    else:
        window = hub.begin(wanted.name, FRESH if wanted.kind == "fresh" else {})
    call.program.broadcast.tell("windows")
    return call.program.feed(window).state()


def _state(call: Call) -> WindowState:
    return call.program.feed(call.window).state()


def _change(call: Call) -> WindowState:
    feed, change = call.feed, call.body
    if change.folder is not None:
        feed.window.memory.window_store.file_window(feed.window.id, _checked_folder(change.folder))
    call.program.hub.change(feed.window, name=change.name, overrides=change.overrides)
    feed.tell_filling()
    call.program.broadcast.tell("windows")
    return feed.state()


def _order(call: Call) -> None:
    order = call.body
    if any(window_id.startswith(PRIVATE_ID) for window_id in order.windows):
        raise InputError("A private window cannot be moved: it always stands at the top of the list.")
    call.program.memory.window_store.place_windows(_checked_folder(order.folder), order.windows)
    call.program.broadcast.tell("windows")


def _checked_folder(folder: str) -> str:
    folder = folder.strip()
    if not folder.isprintable():
        raise InputError(f"A folder's name must have printable characters only; {folder[:40]!r} is not valid.")
    return folder


def _delete(call: Call) -> None:
    window_id = call.part("window")
    for window in call.program.open_windows():
        if window.id == window_id and call.seen is not None:
            call.program.feed(window).require_seen(call.seen)
    call.program.delete_window(window_id)


def _close(call: Call) -> None:
    call.program.close_window(call.window)


def _send(call: Call) -> Queued:
    window, text = call.feed.window, call.body.text
    if not text.strip():
        raise InputError("The message is empty; nothing was sent.")
    message = text if window.doing else require_room(window, text)
    return Queued(call.program.send(window, lambda cancellation: turn.send(window, message, cancellation=cancellation)))


def _stop(call: Call) -> None:
    call.program.turns.stop(call.window)


def _regenerate(call: Call) -> Queued:
    window = call.feed.window
    return Queued(call.program.send(window, lambda cancellation: actions.regenerate(window, cancellation=cancellation)))


def _continue(call: Call) -> Queued:
    window = call.feed.window
    return Queued(
        call.program.send(window, lambda cancellation: turn.continue_reply(window, cancellation=cancellation))
    )


def _reflect(call: Call) -> Queued:
    window = call.feed.window
    if not window.settings.reflection.prompt.strip():
        raise InputError("reflection.prompt is empty; set it to use reflection.")
    return Queued(call.program.send(window, lambda cancellation: reflection.reflect(window, cancellation=cancellation)))


def _edit(call: Call) -> Queued:
    window, text, number = call.feed.window, call.body.text, number_of_text(call.body.turn)
    if not text.strip():
        raise InputError("The message is empty; nothing was changed.")
    return Queued(
        call.program.send(
            window, lambda cancellation: actions.edit_question(window, number, text, cancellation=cancellation)
        )
    )


def _edit_reply(call: Call) -> EditedReply:
    feed, text, number = call.feed, call.body.text, number_of_text(call.body.turn)
    turn_now = actions.edit_reply(feed.window, number, text)
    feed.tell_filling()
    return EditedReply(text_of_number(turn_now))


def _capture(call: Call) -> CaptureFolder:
    window = call.window
    if call.body.is_on:
        started = window.clock().astimezone()
        return CaptureFolder(str(start_capture(window, _capture_folder(window.id, started)).folder))
    recorder = window.recorder
    stop_capture(window)
    return CaptureFolder(str(recorder.folder) if isinstance(recorder, Capture) else "")


def _capture_folder(window_id: str, started: datetime) -> Any:
    return paths.captures_folder() / f"{started:%Y-%m-%d-%H%M%S}-{window_id}"


def _queue(call: Call) -> PendingMessage:
    window = call.window
    call.program.keeper.require_ready()
    message = window.pending.add(call.body.text)
    call.program.send_pending(window)
    return message


def _change_queued(call: Call) -> None:
    call.window.pending.change(call.part("message"), call.body.text)


def _withdraw(call: Call) -> None:
    call.window.pending.withdraw(call.part("message"))


def _send_queued(call: Call) -> None:
    call.program.send_pending(call.window)


_WINDOW = "/api/windows/{window}"
ENDPOINTS = [
    Endpoint("GET", "/api/windows", "List all windows, most recently saved first.", _list, list[WindowEntry]),
    Endpoint("POST", "/api/windows", "Create a window.", _new, WindowState, body=NewWindow, status=201),
    Endpoint("PUT", "/api/windows/order", "Put the windows of a folder in order.", _order, body=ListOrder),
    Endpoint("GET", _WINDOW, "Get the current state of a window, opening it if necessary.", _state, WindowState),
    Endpoint(
        "PATCH",
        _WINDOW,
        "Rename a window, move it to a folder, or replace its own settings.",
        _change,
        WindowState,
        body=WindowChange,
    ),
    Endpoint("DELETE", _WINDOW, "Delete a window; its conversation stays in the memory.", _delete),
    Endpoint("POST", f"{_WINDOW}/close", "Close a window; unless it is private, it is saved.", _close),
    Endpoint("POST", f"{_WINDOW}/messages", "Send a message.", _send, Queued, body=Message, status=202),
    Endpoint(
        "POST",
        f"{_WINDOW}/queue",
        "Send a message as soon as the reply in progress ends.",
        _queue,
        PendingMessage,
        body=Message,
        status=202,
    ),
    Endpoint("PUT", f"{_WINDOW}/queue/{{message}}", "Change a message that waits.", _change_queued, body=Message),
    Endpoint("DELETE", f"{_WINDOW}/queue/{{message}}", "Withdraw a message that waits.", _withdraw),
    Endpoint("POST", f"{_WINDOW}/send-queued", "Send the message that waits first.", _send_queued, status=202),
    Endpoint("POST", f"{_WINDOW}/stop", "Stop the reply, or remove it from the queue.", _stop, status=202),
    Endpoint("POST", f"{_WINDOW}/regenerate", "Answer the newest question again.", _regenerate, Queued, status=202),
    Endpoint("POST", f"{_WINDOW}/continue", "Continue the newest reply.", _continue, Queued, status=202),
    Endpoint("POST", f"{_WINDOW}/reflect", "Let the model summarise its context.", _reflect, Queued, status=202),
    Endpoint("POST", f"{_WINDOW}/edit", "Rephrase a question.", _edit, Queued, body=Edit, status=202),
    Endpoint(
        "POST",
        f"{_WINDOW}/edit-reply",
        "Replace the text of the newest reply without asking the model.",
        _edit_reply,
        EditedReply,
        body=Edit,
    ),
    Endpoint(
        "POST",
        f"{_WINDOW}/capture",
        "Start or stop recording tokens and attention.",
        _capture,
        CaptureFolder,
        body=CaptureWish,
    ),
]
