"""`halo-weave serve`: from binding a port to saving the last snapshot."""

import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from halo_weave import paths
from halo_weave.engine.server_connection import is_loopback
from halo_weave.errors import SettingError
from halo_weave.server.app import create_app
from halo_weave.server.http.connections import (
    ConnectionLimits,
    allow_more_open_files,
    bounded_http,
    usual_limits,
)
from halo_weave.server.http.security import TOKEN_FILE, stored_token
from halo_weave.server.kobold.server import listen
from halo_weave.server.runtime.program import Program, layers_of
from halo_weave.system.background import BackgroundThread
from halo_weave.system.quiet_log import log_quietly

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8642
_PORTS_TRIED = 100
_LARGEST_SOCKET_MESSAGE_BYTES = 64 * 1024
_SAVED_WITHIN_S, _CLOSED_WITHIN_S, _SENT_WITHIN_S = 2.0, 0.3, 0.4
_WILDCARDS = ("0.0.0.0", "::")


def run(
    overrides: Mapping[str, str],
    *,
    host: str,
    port: int | None,
    opens_browser: bool,
    at_end: Callable[[], None] = lambda: None,
) -> int:
    """Serve until Ctrl-C or SIGTERM; a second signal quits immediately. Without a port, the first free one is used.

    `at_end` is called once everything is saved, because the process may end without returning from here.
    """
    stopped = _Stopped()
    allow_more_open_files()
    listener = free_listener(host) if port is None else listen(host, port)
    with listener:
        log_quietly()
        token, is_new = (None, False) if is_loopback(host) else stored_token(paths.data_folder())
        program = Program(layers_of(overrides))
        server = uvicorn.Server(uvicorn_config(create_app(program, host, token), host))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server", daemon=True)
        thread.start()
        _say(host, listener.getsockname()[1], token if is_new else None, needs_token=token is not None)
        if opens_browser and has_display(sys.platform, os.environ):
            address = _address(_local(host), listener.getsockname()[1])
            _open_browser(f"{address}?token={token}" if token else address)
        stopped.wait(thread)
        _end(program, server, thread, at_end)
    return 0


@contextmanager
def serving(program: Program, *, host: str = "127.0.0.1", token: str | None = None) -> Iterator[str]:
    """Serve in a background thread on a free local port; yields the address and closes the program at the end."""
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn_config(create_app(program, host, token), host))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            program.close()
            server.should_exit = True
            thread.join()


def free_listener(host: str, first: int = DEFAULT_PORT) -> socket.socket:
    for port in range(first, first + _PORTS_TRIED):
        try:
            return listen(host, port)
        except SettingError as error:
            if not isinstance(error.__cause__, OSError) or isinstance(error.__cause__, socket.gaierror):
                raise
            refusal = error
    raise refusal


def has_display(platform: str, environ: Mapping[str, str]) -> bool:
    """Without a display, the browser found may be a text browser, which would take over the terminal."""
    return platform in ("darwin", "win32") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def uvicorn_config(app: ASGIApp, host: str, limits: ConnectionLimits | None = None) -> uvicorn.Config:
    limits = limits or usual_limits()
    return uvicorn.Config(
        app,
        http=bounded_http(limits),
        backlog=limits.most,
        ws="websockets-sansio",
        ws_max_size=_LARGEST_SOCKET_MESSAGE_BYTES,
        ws_per_message_deflate=not is_loopback(host),
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )


class _Stopped:
    """Handles stop signals, starting when it is created."""

    def __init__(self) -> None:
        self._event = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def wait(self, thread: threading.Thread) -> None:
        # Wait in short intervals, because on some systems a waiting thread does not receive signals.
        while not self._event.wait(0.5) and thread.is_alive():
            pass

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self._event.is_set():
            os._exit(128 + number)
        self._event.set()
        sys.stderr.write("Saving and closing; press Ctrl-C again to quit immediately.\n")


def _end(program: Program, server: uvicorn.Server, thread: threading.Thread, at_end: Callable[[], None]) -> None:
    """Save everything and stop within seconds. Work that a thread still blocks by then is in the journal.

    There is no wait for an embedder that is still loading: missing vectors are computed at the next start.
    """
    closing = BackgroundThread("closing", program.close)
    closing.start()
    program.is_saved.wait(_SAVED_WITHIN_S)
    closing.join(_CLOSED_WITHIN_S)
    server.should_exit = True
    thread.join(_SENT_WITHIN_S)
    at_end()
    sys.stdout.flush()
    sys.stderr.flush()
    if any(other is not threading.main_thread() and other.is_alive() for other in threading.enumerate()):
        os._exit(0)  # a model or embedder that is being loaded cannot be interrupted


def _say(host: str, port: int, new_token: str | None, *, needs_token: bool) -> None:
    address = _address(_shown(host), port)
    if new_token is not None:
        sys.stderr.write(
            f"Halo Weave is at {address}?token={new_token} (the token is saved and shown only once). "
            "Press Ctrl-C to stop.\n"
        )
    elif needs_token:
        file = paths.data_folder() / TOKEN_FILE
        sys.stderr.write(f"Halo Weave is at {address} with the token in {file}. Press Ctrl-C to stop.\n")
    else:
        sys.stderr.write(f"Halo Weave is at {address} (press Ctrl-C to stop).\n")
    sys.stderr.flush()


def _open_browser(link: str) -> None:
    BackgroundThread("browser", lambda: webbrowser.open(link)).start()


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _local(host: str) -> str:
    return "127.0.0.1" if host in _WILDCARDS else host


def _shown(host: str) -> str:
    return socket.gethostname() if host in _WILDCARDS else host
