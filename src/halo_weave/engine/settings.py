"""The settings of an engine; each with its range and a sentence of help."""

from typing import Annotated, Literal

import msgspec

EngineKind = Literal["llamacpp", "kobold", "openai", "echo"]


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        EngineKind,
        msgspec.Meta(
            description="llamacpp runs a model in this process; kobold and openai use a server; echo is for tests."
        ),
    ] = "llamacpp"
    model: Annotated[
        str,
        msgspec.Meta(description="Path of a GGUF file (empty: the bundled model), or a model's name on the server."),
    ] = ""
    url: Annotated[str, msgspec.Meta(description="Address of the model server, for kobold and openai.")] = ""
    api_key: Annotated[str, msgspec.Meta(description="Key that the model server asks for, if any.")] = ""
    context_tokens: Annotated[
        int,
        msgspec.Meta(ge=0, le=16_777_216, description="Tokens the model may see at once; 0 for all it was trained on."),
    ] = 4096
    threads: Annotated[
        int, msgspec.Meta(ge=0, le=1024, description="Threads for the model; 0 to choose by the machine.")
    ] = 0
    gpu_layers: Annotated[
        int, msgspec.Meta(ge=-1, le=10_000, description="Layers to put on the GPU if there is one; -1 for all.")
    ] = -1
    kept_rows_mb: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=1_000_000, description="Memory for the state of text that left the context; 0 keeps none."
        ),
    ] = 256
    kept_rows_on_disk: Annotated[
        bool, msgspec.Meta(description="Move kept state that no longer fits the memory to disk, up to the same size.")
    ] = False
