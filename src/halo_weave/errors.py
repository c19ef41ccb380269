"""One tree for everything that can go wrong in a way a person can act on.

HaloError
 ├── SettingError         a setting is unknown or its value is not allowed
 ├── InputError           what was asked for cannot be done as asked
 │    ├── ContextTooLarge the wanted context does not fit the model
 │    └── WindowBusy      the window is doing something else
 ├── EngineError          the model, or the way to it, failed
 │    ├── EngineUnavailable  it is not there: no library, no model, no server
 │    ├── EngineProtocolError  a server answered with something that is not the protocol
 │    └── EngineStopped      somebody stopped the work under way
 ├── EmbedderError        texts could not be turned into vectors
 └── StoreError           the memory could not be read or written
      ├── StoreConflict      what was to be written is there already; nothing was written
      ├── StoreUnavailable   it is locked, full, read-only or not there
      ├── StoreDamaged       the file is no memory, or no longer what was written
      └── StoreTooNew        a newer program has changed the memory's form

Every message is one sentence that names the value at fault and, where there is one, the way out.
"""


class HaloError(Exception):
    """Base of all errors that are shown to a person as they are."""


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
