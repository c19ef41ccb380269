"""Ways in which the server says no, beside the program's own errors; and the status that goes with each."""

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
    """A tab wants to change what it has not seen."""


class Busy(InputError):
    """It is being done already."""


class TooLarge(InputError):
    pass


class NotAllowed(HaloError):
    """The request comes from where it should not."""


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
