"""All errors that a person can act on, in one exception tree.

HaloError
 ├── SettingError         a setting is unknown or its value is not allowed
 ├── InputError           the request is invalid or cannot be carried out
 │    ├── ContextTooLarge the wanted context does not fit the model
 │    └── WindowBusy      the window is doing something else
 ├── EngineError          the model or the connection to it failed
 │    ├── EngineUnavailable  it is missing: no library, no model, no server
 │    ├── EngineProtocolError  a server's response does not follow the protocol
 │    └── EngineStopped      the work was cancelled
 ├── EmbedderError        texts could not be turned into vectors
 └── StoreError           the memory could not be read or written
      ├── StoreConflict      the write contradicts what is already there; nothing was written
      ├── StoreUnavailable   it is locked, full, read-only or missing
      ├── StoreDamaged       the file is not a memory, or is corrupt
      └── StoreTooNew        a newer program has changed the memory's format

Every message is one sentence that names the value at fault and, if possible, what to do.
"""


class HaloError(Exception):
    """Base of all errors whose message is shown to a person."""


class SettingError(HaloError):
    pass


class InputError(HaloError):
    pass


class ContextTooLarge(InputError):
    def __init__(self, wanted_tokens: int, usable_tokens: int) -> None:
        super().__init__(
            f"The context has {wanted_tokens} tokens, but the model can use only {usable_tokens}; nothing was changed."
        )
        self.wanted_tokens = wanted_tokens
        self.usable_tokens = usable_tokens


class WindowBusy(InputError):
    pass


class EngineError(HaloError):
    pass


class EngineUnavailable(EngineError):
    pass


class EngineProtocolError(EngineError):
    pass


class EngineStopped(EngineError):
    pass


class EmbedderError(HaloError):
    pass


class StoreError(HaloError):
    pass


class StoreConflict(StoreError):
    pass


class StoreUnavailable(StoreError):
    pass


class StoreDamaged(StoreError):
    pass


class StoreTooNew(StoreError):
    pass
