"""The settings of an engine, each with its range and a help text."""

from typing import Annotated, Literal

import msgspec

EngineKind = Literal["llamacpp", "kobold", "openai", "echo"]


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        EngineKind,
        msgspec.Meta(
            description="Where the model runs: llamacpp in this process, kobold or openai on the server at engine.url. "
            "echo is a stand-in for tests."
        ),
    ] = "llamacpp"
    model: Annotated[
        str,
        msgspec.Meta(
            description="Path of a GGUF file, or the model's name on the server. Empty uses the bundled model, or the "
            "model that the server offers first."
        ),
    ] = ""
    url: Annotated[str, msgspec.Meta(description="Address of the model server; required for kobold and openai.")] = ""
    api_key: Annotated[str, msgspec.Meta(description="API key for the model server, if it asks for one.")] = ""
    context_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=16_777_216,
            description="Size of the model's context in tokens; 0 uses the size it was trained with. A larger context "
            "takes more memory.",
        ),
    ] = 4096
    threads: Annotated[
        int, msgspec.Meta(ge=0, le=1024, description="CPU threads for the model; 0 picks a number for this machine.")
    ] = 0
    gpu_layers: Annotated[
        int,
        msgspec.Meta(
            ge=-1,
            le=10_000,
            description="Model layers that run on the GPU, if there is one; -1 for all. Lower it if the GPU runs out "
            "of memory.",
        ),
    ] = -1
    kept_rows_mb: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1_000_000,
            description="Megabytes of memory for the model's state of archived text, so that the text can return "
            "without being read again; 0 turns this off. Raise it if there is memory to spare.",
        ),
    ] = 256
