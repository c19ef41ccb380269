"""Settings of the reader."""

from typing import Annotated, Literal

import msgspec


class ReaderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        Literal["bundled", "gguf", "off"],
        msgspec.Meta(
            description="Model that reads along, so that its attention helps to find what a message is about: bundled "
            "reads with the bundled model, gguf with reader.model, off searches by words and meaning alone. Reading "
            "goes on in the background."
        ),
    ] = "bundled"
    model: Annotated[
        str,
        msgspec.Meta(
            description="Path of a GGUF language model that reads along; required for gguf. After a change, the whole "
            "memory is read again."
        ),
    ] = ""
