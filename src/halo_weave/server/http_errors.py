"""The server's own errors, in addition to the program's, and the HTTP status of each."""

from halo_weave.errors import (
    EmbedderError,
    EngineError,
    HaloError,
    InputError,
    SettingError,
    StoreConflict,
    StoreError,
    WindowBusy,
)


class NotFound(InputError):
    pass


class Behind(InputError):
    """A tab tries to change a state that it has not seen."""


class Busy(InputError):
    """The same work is already in progress."""


class TooLarge(InputError):
    pass


class NotAllowed(HaloError):
    """The request comes from a source that is not allowed."""


_STATUS: list[tuple[type[HaloError], int]] = [
    (NotFound, 404),
    (Behind, 409),
    (Busy, 409),
    (WindowBusy, 409),
    (StoreConflict, 409),
    (TooLarge, 413),
    (NotAllowed, 403),
    (InputError, 400),
    (SettingError, 400),
    (EngineError, 503),
    (StoreError, 503),
    (EmbedderError, 503),
    (HaloError, 500),
]


def status_of(error: HaloError) -> int:
    return next(status for kind, status in _STATUS if isinstance(error, kind))
