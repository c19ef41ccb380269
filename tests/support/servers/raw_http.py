"""Raw bytes to a server and back, for requests that no client would send."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

from support.servers.served import PATIENCE_S


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    assert parts.hostname
    assert parts.port
    return socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S)


def read_to_end(connection: socket.socket) -> bytes:
    """Read until the server closes the connection; a server that never does is an error."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return received


def answer_to(address: str, request: bytes) -> bytes:
    with connected(address) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):  # the server may refuse before all of it is sent
            connection.sendall(request)
        return read_to_end(connection)
